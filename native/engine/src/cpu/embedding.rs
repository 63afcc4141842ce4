//! Table look-up and row gathering, each with its scatter-add backward. Scatter runs in row order on one thread, so that
//! repeated ids add up in the same order every time.

use super::linear::CpuMatrix;
use super::{Cpu, Shared};

pub fn forward(cpu: &Cpu, w: &CpuMatrix, ids: &[i32], scale: f32, out: &mut [f32]) {
    let d = w.inn;
    assert!(out.len() >= ids.len() * d);
    let op = Shared(out.as_mut_ptr());
    cpu.pool.run_ranges(ids.len(), (1 << 14) / d.max(1) + 1, |a, b| {
        for r in a..b {
            // SAFETY: row r is this task's own.
            let row = unsafe { std::slice::from_raw_parts_mut(op.at(r * d), d) };
            w.row_into(ids[r] as usize, row);
            if scale != 1.0 {
                row.iter_mut().for_each(|x| *x *= scale);
            }
        }
    });
}

pub fn backward(dx: &[f32], ids: &[i32], d: usize, scale: f32, dw: &mut [f32]) {
    for (r, &id) in ids.iter().enumerate() {
        let to = &mut dw[id as usize * d..][..d];
        to.iter_mut().zip(&dx[r * d..]).for_each(|(w, x)| *w += x * scale);
    }
}

pub fn gather(x: &[f32], rows: &[u32], d: usize, out: &mut [f32]) {
    for (i, &r) in rows.iter().enumerate() {
        out[i * d..(i + 1) * d].copy_from_slice(&x[r as usize * d..][..d]);
    }
}

pub fn scatter_add(dout: &[f32], rows: &[u32], d: usize, dx: &mut [f32]) {
    for (i, &r) in rows.iter().enumerate() {
        let to = &mut dx[r as usize * d..][..d];
        to.iter_mut().zip(&dout[i * d..]).for_each(|(x, g)| *x += g);
    }
}
