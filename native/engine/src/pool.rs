//! Threads for the kernels: `Pool::run(n, f)` calls `f(0) … f(n-1)`, each once, on all threads including the caller's.
//!
//! A training step or a decode step is hundreds of short parallel regions; workers therefore spin for a moment before they
//! sleep, which makes a region cost a microsecond or two where a general work-stealing pool costs ten (see LOG.md).
//! Which thread runs which index is not fixed, so `f` must write only what belongs to its index: results are then
//! the same for any number of threads.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

type Job = *const (dyn Fn(usize) + Sync);

struct Shared {
    /// Epoch in the high half; then `OPEN` while workers may join it, and how many are in it.
    state: AtomicU64,
    job: UnsafeCell<Option<Job>>,
    total: AtomicUsize,
    next: AtomicUsize,
    sleepers: Mutex<usize>,
    wake: Condvar,
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

const OPEN: u64 = 1 << 31;
const IN_IT: u64 = OPEN - 1;

fn epoch(state: u64) -> u64 {
    state >> 32
}

// SAFETY: `job` is written only by `run`, while the epoch is closed and empty, and read only by those who joined an open one.
unsafe impl Sync for Shared {}
// SAFETY: as above; the raw pointer is only dereferenced between publication and the end of `run`.
unsafe impl Send for Shared {}

pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    running: Mutex<()>,
}

const SPINS: usize = 4000;

impl Pool {
    /// `threads` counts the caller: 1 means no worker.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            total: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let workers = (1..threads.max(1))
            .map(|i| {
                let shared = shared.clone();
                std::thread::Builder::new()
                    .name(format!("hone-{i}"))
                    .spawn(move || worker(&shared))
                    .expect("the system refused to start a thread")
            })
            .collect();
        Self { shared, workers, running: Mutex::new(()) }
    }

    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    pub fn run(&self, total: usize, f: impl Fn(usize) + Sync) {
        if total <= 1 || self.workers.is_empty() {
            (0..total).for_each(f);
            return;
        }
        let _one_at_a_time = self.running.lock().unwrap_or_else(|e| e.into_inner());
        let s = &*self.shared;
        let job: &(dyn Fn(usize) + Sync) = &f;
        // SAFETY: the lifetime is erased, but this function returns only when nobody is in the epoch and nobody can join it.
        unsafe { *s.job.get() = Some(std::mem::transmute::<&(dyn Fn(usize) + Sync), Job>(job)) };
        s.total.store(total, Relaxed);
        s.next.store(0, Relaxed);
        let now = epoch(s.state.load(Relaxed)) + 1;
        s.state.store(now << 32 | OPEN, SeqCst);
        if *s.sleepers.lock().unwrap_or_else(|e| e.into_inner()) > 0 {
            s.wake.notify_all();
        }
        work(s, job);
        // A worker that the system has not let run yet is not waited for: it finds the epoch closed.
        s.state.fetch_and(!OPEN, AcqRel);
        let mut spins = 0;
        while s.state.load(Acquire) & IN_IT > 0 {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        if let Some(panic) = s.panic.lock().unwrap_or_else(|e| e.into_inner()).take() {
            resume_unwind(panic);
        }
    }

    /// `run` over `len` items in contiguous pieces of at least `grain`: `f(start, end)`.
    pub fn run_ranges(&self, len: usize, grain: usize, f: impl Fn(usize, usize) + Sync) {
        let pieces = (len / grain.max(1)).clamp(1, self.threads() * 4);
        let step = len.div_ceil(pieces);
        self.run(len.div_ceil(step.max(1)), |i| f(i * step, len.min((i + 1) * step)));
    }
}

fn work(s: &Shared, job: &(dyn Fn(usize) + Sync)) {
    let total = s.total.load(Relaxed);
    let result = catch_unwind(AssertUnwindSafe(|| loop {
        let i = s.next.fetch_add(1, Relaxed);
        if i >= total {
            break;
        }
        job(i);
    }));
    if let Err(panic) = result {
        s.next.store(total, Relaxed);
        s.panic.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(panic);
    }
}

fn worker(s: &Shared) {
    let mut seen = 0;
    loop {
        let mut spins = 0;
        let mut state = s.state.load(Acquire);
        while epoch(state) == seen {
            if s.stop.load(Relaxed) {
                return;
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                let mut sleepers = s.sleepers.lock().unwrap_or_else(|e| e.into_inner());
                *sleepers += 1;
                while epoch(s.state.load(SeqCst)) == seen && !s.stop.load(SeqCst) {
                    sleepers = s.wake.wait(sleepers).unwrap_or_else(|e| e.into_inner());
                }
                *sleepers -= 1;
            }
            state = s.state.load(Acquire);
        }
        seen = epoch(state);
        while state & OPEN != 0 && epoch(state) == seen {
            match s.state.compare_exchange_weak(state, state + 1, AcqRel, Acquire) {
                Ok(_) => {
                    // SAFETY: joined while open: `run` published the job before and waits for this worker to leave.
                    if let Some(job) = unsafe { *s.job.get() } {
                        // SAFETY: as above, the closure outlives this epoch.
                        work(s, unsafe { &*job });
                    }
                    s.state.fetch_sub(1, AcqRel);
                    break;
                }
                Err(now) => state = now,
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        drop(self.shared.sleepers.lock());
        self.shared.wake.notify_all();
        for w in self.workers.drain(..) {
            let _ = w.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_runs_once() {
        let pool = Pool::new(4);
        for n in [0, 1, 2, 7, 1000] {
            let hits: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            pool.run(n, |i| {
                hits[i].fetch_add(1, Relaxed);
            });
            assert!(hits.iter().all(|h| h.load(Relaxed) == 1));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(3);
        let r = catch_unwind(AssertUnwindSafe(|| pool.run(50, |i| assert!(i != 17, "seventeen"))));
        assert!(r.is_err());
        let count = AtomicUsize::new(0);
        pool.run(50, |_| {
            count.fetch_add(1, Relaxed);
        });
        assert_eq!(count.load(Relaxed), 50);
    }

    #[test]
    fn wakes_after_sleep() {
        let pool = Pool::new(2);
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let count = AtomicUsize::new(0);
            pool.run(8, |_| {
                count.fetch_add(1, Relaxed);
            });
            assert_eq!(count.load(Relaxed), 8);
        }
    }
}
