use hone_engine::gemm::*;
use hone_engine::pool::Pool;
fn main() {
    for threads in [1, 2] {
        let pool = Pool::new(threads);
        for (m, n, k) in [(1024, 1536, 576), (1024, 192, 192), (1024, 512, 192), (1024, 192, 512), (10240, 512, 192), (256, 512, 192), (192, 512, 1024), (1, 512, 192)] {
            let a = vec![0.5f32; m * k];
            let b = vec![0.25f32; packed_len(n, k)];
            let mut c = vec![0f32; m * n];
            let mut best = f64::MAX;
            let mut best_t = f64::MAX;
            for _ in 0..30 {
                let t = std::time::Instant::now();
                unsafe { gemm(&pool, m, n, k, MatA { ptr: a.as_ptr(), row: k, col: 1 }, Panels::packed(b.as_ptr(), k), c.as_mut_ptr(), n, false) };
                best = best.min(t.elapsed().as_secs_f64());
                let t = std::time::Instant::now();
                unsafe { gemm(&pool, m, n, k, MatA { ptr: a.as_ptr(), row: 1, col: m }, Panels::packed(b.as_ptr(), k), c.as_mut_ptr(), n, true) };
                best_t = best_t.min(t.elapsed().as_secs_f64());
            }
            let f = 2.0 * (m * n * k) as f64 / 1e9;
            eprintln!("threads {threads} {m}x{n}x{k}: {:.1} GFLOP/s, transposed A {:.1}", f / best, f / best_t);
        }
    }
}
