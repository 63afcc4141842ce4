//! ggml's tensor types (`GGML_QUANT_SIZES` in `gguf-py/gguf/constants.py`). Types we cannot compute with are listed too:
//! their size must be known to check a file, and their name to refuse them.

use super::Dtype;

/// Number in the file, name, weights per block, bytes per block.
const TYPES: [(u32, &str, usize, usize); 34] = [
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 40),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
];

/// Name, weights and bytes per block; `None` for a number that is not ggml's.
pub(super) fn ggml_type(id: u32) -> Option<(&'static str, usize, usize)> {
    TYPES.iter().find(|t| t.0 == id).map(|&(_, name, len, bytes)| (name, len, bytes))
}

/// The storage type of that number, where it is one we read.
pub(super) fn dtype_of(id: u32) -> Option<Dtype> {
    let (name, ..) = ggml_type(id)?;
    Dtype::ALL.into_iter().find(|d| d.name() == name)
}

/// Bytes of a tensor; `None` when they overflow or its rows are not whole blocks.
pub(super) fn tensor_bytes(shape: &[usize], block_len: usize, block_bytes: usize) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    if shape.last().copied().unwrap_or(1) % block_len != 0 {
        return None;
    }
    (elements / block_len).checked_mul(block_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_storage_type_has_its_number_and_size() {
        let ours: Vec<Dtype> = TYPES.iter().filter_map(|t| dtype_of(t.0)).collect();
        assert_eq!(ours.len(), Dtype::ALL.len());
        for (id, _, len, bytes) in TYPES {
            if let Some(dtype) = dtype_of(id) {
                assert_eq!((dtype.block_len(), dtype.block_bytes()), (len, bytes), "{}", dtype.name());
            }
        }
    }
}
