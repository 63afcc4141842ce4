//! The optimizer state on disk, for a resume that continues bit for bit: moments and step counts, and the value head.

use super::value_head::ValueHead;
use super::{Model, Param};
use crate::bail;
use crate::device::Device;
use crate::error::Result;
use crate::formats::{write_safetensors, Dtype, SafetensorsFile, TensorOut};
use std::path::Path;

/// A tensor to write.
type Named = (String, Vec<usize>, Vec<f32>);

const MOMENTS: [&str; 2] = ["exp_avg", "exp_avg_sq"];

impl<D: Device> Param<D> {
    fn moments(&self, dev: &D) -> Vec<Named> {
        let Some((m, v)) = self.state.as_ref().and_then(|s| s.moments.as_ref()) else { return Vec::new() };
        let named = |(kind, buf): (&str, &D::Buf)| {
            let mut host = vec![0.0; self.len()];
            dev.download(buf, &mut host);
            (format!("{}.{kind}", self.name), self.shape.clone(), host)
        };
        MOMENTS.into_iter().zip([m, v]).map(named).collect()
    }

    fn read(&self, file: &SafetensorsFile, name: &str) -> Result<Vec<f32>> {
        let view = file.tensor(name)?;
        if view.shape != self.shape {
            let place = file.path().display();
            bail!("bad-state", "{place}: {name} has shape {:?}, expected {:?}", view.shape, self.shape);
        }
        view.to_f32()
    }

    fn load_moments(&mut self, dev: &D, file: &SafetensorsFile) -> Result<()> {
        let [m, v] = MOMENTS.map(|kind| self.read(file, &format!("{}.{kind}", self.name)));
        let moments = (dev.upload(&m?), dev.upload(&v?));
        if let Some(state) = &mut self.state {
            state.moments = Some(moments);
        }
        Ok(())
    }
}

impl<D: Device> ValueHead<D> {
    /// Weights and moments.
    fn state(&self, dev: &D) -> Result<Vec<Named>> {
        let mut out = Vec::new();
        for p in self.params() {
            out.push((p.name.clone(), p.shape.clone(), dev.matrix_download(&p.data)?));
            out.extend(p.moments(dev));
        }
        Ok(out)
    }

    fn from_state(dev: &D, hidden: usize, steps: u64, file: &SafetensorsFile) -> Result<Self> {
        let mut head = Self::new(dev, hidden);
        head.steps = steps;
        for p in head.params_mut() {
            let data = p.read(file, &p.name)?;
            if let Some(buf) = dev.matrix_buf_mut(&mut p.data) {
                *buf = dev.upload(&data);
            }
            if steps > 0 {
                p.load_moments(dev, file)?;
            }
        }
        Ok(head)
    }
}

impl<D: Device> Model<D> {
    /// Moments of every trained parameter and the step counters; a value head with its weights.
    ///
    /// # Errors
    /// `write-failed`, `disk-full`.
    pub fn save_state(&mut self, path: &Path) -> Result<()> {
        let mut tensors: Vec<Named> = Vec::new();
        self.for_each_param(|dev, p| tensors.extend(p.moments(dev)));
        let mut counts = vec![("step", self.steps.to_string()), ("forward_passes", self.passes.to_string())];
        if let Some(head) = &self.value_head {
            tensors.extend(head.state(&self.dev)?);
            counts.push(("value_step", head.steps.to_string()));
        }
        let tensor = |(name, shape, data)| TensorOut { name, shape, data, dtype: Dtype::F32 };
        let out: Vec<TensorOut> = tensors.iter().map(|(n, s, d)| tensor((n.as_str(), &s[..], &d[..]))).collect();
        let counts: Vec<(&str, &str)> = counts.iter().map(|(key, n)| (*key, n.as_str())).collect();
        write_safetensors(path, &out, &counts)
    }

    /// Takes over the value head of the file, if it has one; a head that the file lacks stays as it is.
    ///
    /// # Errors
    /// `bad-state` when the file belongs to another set of trained weights.
    pub fn load_state(&mut self, path: &Path) -> Result<()> {
        let file = SafetensorsFile::open(path)?;
        let number = |key: &str| file.metadata().get(key).and_then(|s| s.parse::<u64>().ok());
        let (Some(steps), Some(passes)) = (number("step"), number("forward_passes")) else {
            bail!("bad-state", "{} is not an optimizer state: it has no step count", path.display());
        };
        let hidden = self.config.hidden_size;
        let head = number("value_step").map(|n| ValueHead::from_state(&*self.dev, hidden, n, &file)).transpose()?;
        let mut failure = None;
        self.for_each_param(|dev, p| {
            if failure.is_none() && steps > 0 && p.trained() {
                failure = p.load_moments(dev, &file).err();
            }
        });
        if let Some(e) = failure {
            return Err(e);
        }
        (self.steps, self.passes) = (steps, passes);
        if head.is_some() {
            (self.value_head, self.kept) = (head, None);
        }
        Ok(())
    }
}
