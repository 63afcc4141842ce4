//! Storage types and a tensor as it lies in a file.

use super::quant::{dequantize_into, first_non_finite_block};
use super::{shorten, Bytes};
use crate::error::Result;
use std::sync::Arc;

/// How the weights of a tensor are stored. Quantised types are ggml's blocks: a few scales and the packed codes of
/// [`Dtype::block_len`] consecutive weights of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

impl Dtype {
    /// Every storage type, in declaration order.
    pub const ALL: [Dtype; 13] = [
        Dtype::F32,
        Dtype::F16,
        Dtype::BF16,
        Dtype::Q4_0,
        Dtype::Q4_1,
        Dtype::Q5_0,
        Dtype::Q5_1,
        Dtype::Q8_0,
        Dtype::Q2K,
        Dtype::Q3K,
        Dtype::Q4K,
        Dtype::Q5K,
        Dtype::Q6K,
    ];

    /// The name ggml and safetensors use: `BF16`, `Q4_1`, `Q6_K`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "F32",
            Dtype::F16 => "F16",
            Dtype::BF16 => "BF16",
            Dtype::Q4_0 => "Q4_0",
            Dtype::Q4_1 => "Q4_1",
            Dtype::Q5_0 => "Q5_0",
            Dtype::Q5_1 => "Q5_1",
            Dtype::Q8_0 => "Q8_0",
            Dtype::Q2K => "Q2_K",
            Dtype::Q3K => "Q3_K",
            Dtype::Q4K => "Q4_K",
            Dtype::Q5K => "Q5_K",
            Dtype::Q6K => "Q6_K",
        }
    }

    /// Weights per block; 1 for the float types.
    #[inline(always)]
    pub const fn block_len(self) -> usize {
        match self {
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => 1,
            Dtype::Q4_0 | Dtype::Q4_1 | Dtype::Q5_0 | Dtype::Q5_1 | Dtype::Q8_0 => 32,
            Dtype::Q2K | Dtype::Q3K | Dtype::Q4K | Dtype::Q5K | Dtype::Q6K => 256,
        }
    }

    /// Bytes per block.
    #[inline(always)]
    pub const fn block_bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
            Dtype::Q4_0 => 18,
            Dtype::Q4_1 => 20,
            Dtype::Q5_0 => 22,
            Dtype::Q5_1 => 24,
            Dtype::Q8_0 => 34,
            Dtype::Q2K => 84,
            Dtype::Q3K => 110,
            Dtype::Q4K => 144,
            Dtype::Q5K => 176,
            Dtype::Q6K => 210,
        }
    }

    /// True for ggml's block types.
    pub const fn is_quantized(self) -> bool {
        self.block_len() > 1
    }

    /// Bytes of a tensor of this shape; `None` when it overflows or the last dimension is not whole blocks.
    pub fn tensor_bytes(self, shape: &[usize]) -> Option<usize> {
        let elements = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        if self.is_quantized() && shape.last().is_none_or(|cols| cols % self.block_len() != 0) {
            return None;
        }
        (elements / self.block_len()).checked_mul(self.block_bytes())
    }
}

/// A tensor as stored: row-major, in Hugging Face order (`[out, in]` for a projection).
#[derive(Debug, Clone)]
pub struct TensorView {
    pub name: String,
    pub shape: Vec<usize>,
    pub dtype: Dtype,
    /// As in the file, which may hold the rows in another order.
    pub bytes: Bytes,
    /// Where each row lies in `bytes`, when that is not its own place.
    pub row_order: Option<Arc<[u32]>>,
}

impl TensorView {
    /// Number of weights.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// All weights as f32, `elements()` of them. Errors: `non-finite-weights`; `wrong-shape` when bytes and shape disagree.
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        check_finite(self)?;
        let mut out = vec![0.0f32; self.elements()];
        match &self.row_order {
            None => dequantize_into(self.dtype, &self.bytes, &mut out),
            Some(order) => {
                let cols = out.len() / order.len().max(1);
                for (n, row) in out.chunks_exact_mut(cols.max(1)).enumerate() {
                    dequantize_into(self.dtype, self.row(n), row);
                }
            }
        }
        Ok(out)
    }

    /// The stored bytes of row `n` (along the first dimension).
    #[inline]
    pub fn row(&self, n: usize) -> &[u8] {
        let at = self.row_order.as_ref().map_or(n, |order| order[n] as usize);
        let size = self.bytes.len() / self.shape.first().copied().unwrap_or(1).max(1);
        &self.bytes[at * size..(at + 1) * size]
    }

    fn check_size(&self) -> Result<()> {
        if self.dtype.tensor_bytes(&self.shape) != Some(self.bytes.len()) {
            crate::bail!(
                "wrong-shape",
                "Tensor {} of shape {:?} and type {} does not fit its {} bytes.",
                shorten(&self.name),
                self.shape,
                self.dtype.name(),
                self.bytes.len()
            );
        }
        Ok(())
    }
}

/// Refuses a tensor that holds NaN or infinity. Of a quantised tensor only the scales can, so only they are read.
/// Error: `non-finite-weights`, with the row.
pub fn check_finite(tensor: &TensorView) -> Result<()> {
    tensor.check_size()?;
    if let Some(block) = first_non_finite_block(tensor.dtype, &tensor.bytes) {
        let cols = tensor.shape.last().copied().unwrap_or(1).max(1);
        crate::bail!(
            "non-finite-weights",
            "Tensor {} holds NaN or infinity (first in row {}). The checkpoint is damaged or its training diverged: \
             download it again or use an earlier checkpoint.",
            shorten(&tensor.name),
            block * tensor.dtype.block_len() / cols
        );
    }
    Ok(())
}
