//! Products with weights, dense and in every storage type.

use crate::support::{blank, choose, close, compare, given, ids, noise, read, same_bits};
use hone_engine::cpu::Cpu;
use hone_engine::device::Device;
use hone_engine::formats::{f32_to_bf16, f32_to_f16, Bytes, Dtype, TensorView};
use hone_engine::reference::Reference;

/// Rows, out, in: around the widths of tiles and panels, and past the length at which a contraction is cut.
const SHAPES: [(usize, usize, usize); 19] = [
    (1, 1, 1),
    (1, 2, 3),
    (2, 1, 5),
    (3, 5, 2),
    (5, 17, 16),
    (15, 16, 17),
    (16, 33, 31),
    (17, 64, 65),
    (31, 65, 64),
    (33, 15, 100),
    (64, 100, 33),
    (65, 31, 129),
    (100, 129, 15),
    (129, 64, 255),
    (255, 3, 64),
    (13, 96, 2050),
    (1, 255, 1030),
    (4, 31, 1025),
    (200, 192, 192),
];

/// Rounding of a sum of `k` products of independent numbers, with a margin.
fn tolerance(k: usize) -> f32 {
    1.5e-7 * (2.0 + (k as f32).sqrt())
}

#[test]
fn dense() {
    for (rows, out, inn) in SHAPES {
        let (w, x, dy) = (noise(out * inn, 1), noise(rows * inn, 2), noise(rows * out, 3));
        let (y0, dx0, dw0) = (noise(rows * out, 4), noise(rows * inn, 5), noise(out * inn, 6));
        for keep in [true, false] {
            compare!(format!("x·Wᵀ {rows} {out} {inn} keep {keep}"), tolerance(inn), |dev| {
                dev.keep_panels(keep);
                let m = dev.matrix_dense(w.clone(), out, inn);
                let x = dev.upload(&x);
                let (mut y, mut yy) = (blank(dev, rows * out), given(dev, &y0));
                dev.linear(&x, rows, &m, &mut y, false);
                dev.linear(&x, rows, &m, &mut yy, true);
                let (mut d, mut dd) = (blank(dev, rows * out), given(dev, &y0));
                dev.linear_decode(&x, rows, &m, &mut d, false);
                dev.linear_decode(&x, rows, &m, &mut dd, true);
                [y, yy, d, dd].iter().map(|b| read(dev, b, rows * out)).collect()
            });
            compare!(format!("dy·W {rows} {out} {inn} keep {keep}"), tolerance(out), |dev| {
                dev.keep_panels(keep);
                let m = dev.matrix_dense(w.clone(), out, inn);
                let dy = dev.upload(&dy);
                let (mut d, mut dd) = (blank(dev, rows * inn), given(dev, &dx0));
                dev.linear_dx(&dy, rows, &m, &mut d, false);
                dev.linear_dx(&dy, rows, &m, &mut dd, true);
                [d, dd].iter().map(|b| read(dev, b, rows * inn)).collect()
            });
        }
        compare!(format!("dyᵀ·x {rows} {out} {inn}"), tolerance(rows), |dev| {
            let mut dw = given(dev, &dw0);
            dev.linear_dw(&dev.upload(&dy), &dev.upload(&x), rows, out, inn, &mut dw);
            vec![read(dev, &dw, out * inn)]
        });
        compare!(format!("bias {rows} {out}"), tolerance(rows), |dev| {
            let (mut y, mut db) = (given(dev, &y0), given(dev, &w[..out.min(w.len())]));
            dev.add_bias(&mut y, rows, &dev.upload(&dx0[..1].repeat(out)), out);
            dev.bias_grad(&dev.upload(&dy), rows, out, &mut db);
            vec![read(dev, &y, rows * out), read(dev, &db, out)]
        });
    }
}

/// A tensor of made-up blocks: any codes, and scales of a usual size.
fn encoded(dtype: Dtype, out: usize, inn: usize, seed: u64) -> TensorView {
    let n = out * inn;
    let halves = |convert: fn(f32) -> u16| noise(n, seed).iter().flat_map(|&x| convert(x).to_le_bytes()).collect();
    let bytes: Vec<u8> = match dtype {
        Dtype::F32 => noise(n, seed).iter().flat_map(|x| x.to_le_bytes()).collect(),
        Dtype::F16 => halves(f32_to_f16),
        Dtype::BF16 => halves(f32_to_bf16),
        _ => {
            let scales_at: &[usize] = match dtype {
                Dtype::Q4_0 | Dtype::Q5_0 | Dtype::Q8_0 => &[0],
                Dtype::Q2K => &[80, 82],
                Dtype::Q3K => &[108],
                Dtype::Q6K => &[208],
                _ => &[0, 2],
            };
            let size = dtype.tensor_bytes(&[out, inn]).unwrap();
            let mut bytes: Vec<u8> = choose(size, 256, seed).into_iter().map(|b| b as u8).collect();
            let blocks = size / dtype.block_bytes();
            let scales = noise(blocks * scales_at.len(), seed + 1);
            for (i, scale) in scales.iter().enumerate() {
                let at = i / scales_at.len() * dtype.block_bytes() + scales_at[i % scales_at.len()];
                bytes[at..at + 2].copy_from_slice(&f32_to_f16(scale * 0.02).to_le_bytes());
            }
            bytes
        }
    };
    TensorView { name: "made".into(), shape: vec![out, inn], dtype, bytes: Bytes::from(bytes), row_order: None }
}

/// Lengths of rows that this type can have.
fn widths(dtype: Dtype) -> &'static [usize] {
    match dtype.block_len() {
        1 => &[1, 3, 17, 100],
        32 => &[32, 64, 96, 288],
        _ => &[256, 512],
    }
}

#[test]
fn every_storage_type() {
    for dtype in Dtype::ALL {
        for (i, &inn) in widths(dtype).iter().enumerate() {
            for (j, &(rows, out)) in [(1, 1), (2, 5), (3, 33), (4, 70), (5, 31), (7, 64), (33, 65)].iter().enumerate() {
                let mut view = encoded(dtype, out, inn, (i * 10 + j) as u64);
                if j % 2 == 1 {
                    // Rows that lie in another order in the file.
                    view.row_order = Some((0..out as u32).map(|n| (n + 3) % out as u32).rev().collect());
                }
                let (x, dy) = (noise(rows * inn, 7), noise(rows * out, 8));
                let (y0, dx0) = (noise(rows * out, 9), noise(rows * inn, 10));
                let rows_read = ids(rows, out, 11);
                let what = format!("{} {rows} {out} {inn}", dtype.name());
                // The length of a row times that of a row of x: what a sum of few terms may cancel from.
                let size = view.to_f32().unwrap().iter().map(|w| w * w / (3 * out) as f32).sum::<f32>().sqrt();
                compare!(what, tolerance(inn.max(out)), size, |dev| {
                    let m = dev.matrix_encoded(view.clone());
                    assert!(dev.matrix_buf(&m).is_none());
                    let (x, dy) = (dev.upload(&x), dev.upload(&dy));
                    let (mut a, mut b) = (blank(dev, rows * out), given(dev, &y0));
                    dev.linear(&x, rows, &m, &mut a, false);
                    dev.linear(&x, rows, &m, &mut b, true);
                    let (mut c, mut d) = (blank(dev, rows * out), given(dev, &y0));
                    dev.linear_decode(&x, rows, &m, &mut c, false);
                    dev.linear_decode(&x, rows, &m, &mut d, true);
                    let (mut e, mut f) = (blank(dev, rows * inn), given(dev, &dx0));
                    dev.linear_dx(&dy, rows, &m, &mut e, false);
                    dev.linear_dx(&dy, rows, &m, &mut f, true);
                    let mut g = blank(dev, rows * inn);
                    dev.embed(&m, &rows_read, 1.5, &mut g);
                    let mut all: Vec<Vec<f32>> = [a, b, c, d].iter().map(|b| read(dev, b, rows * out)).collect();
                    all.extend([e, f, g].iter().map(|b| read(dev, b, rows * inn)));
                    all.push(dev.matrix_download(&m).unwrap());
                    all
                });
            }
        }
    }
}

/// A row order is a view: the same as moving the rows.
#[test]
fn row_order_moves_rows() {
    let view = encoded(Dtype::Q4_1, 12, 64, 1);
    let plain = view.to_f32().unwrap();
    let order: Vec<u32> = [5, 0, 11, 3, 3, 7, 1, 2, 10, 9, 8, 4].to_vec();
    let moved: Vec<f32> = order.iter().flat_map(|&r| plain[r as usize * 64..][..64].to_vec()).collect();
    let view = TensorView { row_order: Some(order.into()), ..view };
    assert_eq!(view.to_f32().unwrap(), moved);
    let vector = TensorView {
        name: "bias".into(),
        shape: vec![3],
        dtype: Dtype::F32,
        bytes: Bytes::from([1f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()),
        row_order: Some([2, 0, 1].into()),
    };
    assert_eq!(vector.to_f32().unwrap(), [3.0, 1.0, 2.0]);
}

/// What sampling relies on: a row's result is the same bit for bit alone, and among any others.
#[test]
fn rows_do_not_depend_on_their_neighbours() {
    let (out, inn) = (70, 256);
    let x = noise(40 * inn, 1);
    for dtype in [None, Some(Dtype::F32), Some(Dtype::Q4_1), Some(Dtype::Q6K), Some(Dtype::BF16)] {
        for keep in [false, true] {
            let dev = Cpu::new(2);
            dev.keep_panels(keep);
            let m = match dtype {
                None => dev.matrix_dense(noise(out * inn, 2), out, inn),
                Some(d) => dev.matrix_encoded(encoded(d, out, inn, 3)),
            };
            let run = |first: usize, rows: usize| {
                let x = dev.upload(&x[first * inn..(first + rows) * inn]);
                let (mut a, mut b) = (blank(&dev, rows * out), blank(&dev, rows * out));
                dev.linear(&x, rows, &m, &mut a, false);
                dev.linear_decode(&x, rows, &m, &mut b, false);
                [read(&dev, &a, rows * out), read(&dev, &b, rows * out)]
            };
            let whole = run(0, 40);
            for rows in 1..=9 {
                for first in (0..40 - rows).step_by(7) {
                    for (part, whole) in run(first, rows).iter().zip(&whole) {
                        let same =
                            same_bits(std::slice::from_ref(part), &[whole[first * out..(first + rows) * out].to_vec()]);
                        assert!(same, "{dtype:?} keep {keep}: rows {first} + {rows}");
                    }
                }
            }
        }
    }
}

/// Writing a weight drops what was derived from it.
#[test]
fn kept_panels_follow_the_weight() {
    let (out, inn) = (33, 17);
    let dev = Cpu::new(1);
    dev.keep_panels(true);
    let (w, x) = (noise(out * inn, 1), noise(3 * inn, 2));
    let mut m = dev.matrix_dense(noise(out * inn, 3), out, inn);
    let buf = dev.upload(&x);
    let mut y = blank(&dev, 3 * out);
    let mut dx = blank(&dev, 3 * inn);
    dev.linear(&buf, 3, &m, &mut y, false);
    let dy = dev.upload(&noise(3 * out, 4));
    dev.linear_dx(&dy, 3, &m, &mut dx, false);
    dev.copy(&dev.upload(&w), dev.matrix_buf_mut(&mut m).unwrap(), out * inn);
    dev.linear(&buf, 3, &m, &mut y, false);
    dev.linear_dx(&dy, 3, &m, &mut dx, false);
    let r = Reference.matrix_dense(w, out, inn);
    let (mut want_y, mut want_dx) = (blank(&Reference, 3 * out), blank(&Reference, 3 * inn));
    Reference.linear(&Reference.upload(&x), 3, &r, &mut want_y, false);
    Reference.linear_dx(&Reference.upload(&noise(3 * out, 4)), 3, &r, &mut want_dx, false);
    let got = [read(&dev, &y, 3 * out), read(&dev, &dx, 3 * inn)];
    close(
        "after a change",
        &got,
        &[read(&Reference, &want_y, 3 * out), read(&Reference, &want_dx, 3 * inn)],
        2e-6,
        0.0,
    );
}
