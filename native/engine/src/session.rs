//! A model on a thread of its own. Calls queue in order; sampling jobs join the running batch between two steps, and anything
//! else waits until the batch is empty, so weights never change under a running sample.

use crate::device::Device;
use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::request::{SampleEvent, SampleJob};
use crate::sampler::Sampler;
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::Mutex;
use std::thread::JoinHandle;

type Task<D> = Box<dyn FnOnce(Option<&mut Model<D>>) + Send>;

enum Command<D: Device> {
    Sample(SampleJob),
    Run(Task<D>),
    Close(Box<dyn FnOnce() + Send>),
}

pub struct Session<D: Device> {
    commands: Mutex<Option<Sender<Command<D>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

fn closed() -> EngineError {
    EngineError::new("closed", "this model has been closed: open it again")
}

/// What a panic becomes: an error that asks to be reported, never the end of the process.
pub fn panic_error(panic: &(dyn Any + Send)) -> EngineError {
    let text =
        panic.downcast_ref::<&str>().map(|s| (*s).to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    EngineError::new(
        "engine-panic",
        format!("the engine met a bug and stopped this call: {}. Please report it", text.unwrap_or_default()),
    )
}

impl<D: Device> Session<D> {
    /// `load` runs on the new thread; `ready` gets what it says about the model, or its error. `kv_budget`: bytes that the
    /// KV cache may take.
    pub fn open<R: Send + 'static>(
        load: impl FnOnce() -> Result<Model<D>> + Send + 'static,
        kv_budget: impl FnOnce(&Model<D>) -> u64 + Send + 'static,
        describe: impl FnOnce(&Model<D>) -> R + Send + 'static,
        ready: impl FnOnce(Result<R>) + Send + 'static,
    ) -> Self {
        let (tx, rx) = channel();
        let thread = std::thread::Builder::new()
            .name("hone-model".into())
            .spawn(move || match catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|p| Err(panic_error(&*p))) {
                Ok(model) => {
                    let sampler = Sampler::new(&model, kv_budget(&model));
                    ready(Ok(describe(&model)));
                    serve(model, sampler, &rx);
                }
                Err(e) => ready(Err(e)),
            })
            .expect("the system refused to start a thread");
        Self { commands: Mutex::new(Some(tx)), thread: Mutex::new(Some(thread)) }
    }

    fn send(&self, c: Command<D>) -> std::result::Result<(), Command<D>> {
        match &*self.commands.lock().unwrap_or_else(|e| e.into_inner()) {
            Some(tx) => tx.send(c).map_err(|e| e.0),
            None => Err(c),
        }
    }

    /// Run `f` on the model's thread when all earlier calls are done; `done` gets its result.
    pub fn call<R: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Model<D>) -> Result<R> + Send + 'static,
        done: impl FnOnce(Result<R>) + Send + 'static,
    ) {
        let task: Task<D> = Box::new(move |model| {
            done(match model {
                Some(m) => catch_unwind(AssertUnwindSafe(|| f(m))).unwrap_or_else(|p| Err(panic_error(&*p))),
                None => Err(closed()),
            });
        });
        if let Err(Command::Run(task)) = self.send(Command::Run(task)) {
            task(None);
        }
    }

    pub fn sample(&self, job: SampleJob) {
        if let Err(Command::Sample(mut job)) = self.send(Command::Sample(job)) {
            (job.sink)(SampleEvent::Failed(closed()));
        }
    }

    /// Free the model after the calls before it; `done` runs when its memory is gone. Later calls fail with `closed`.
    pub fn close(&self, done: impl FnOnce() + Send + 'static) {
        let sent = self.send(Command::Close(Box::new(done)));
        self.commands.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Err(Command::Close(done)) = sent {
            done();
        }
    }
}

impl<D: Device> Drop for Session<D> {
    fn drop(&mut self) {
        self.commands.lock().unwrap_or_else(|e| e.into_inner()).take();
        // Not joined: the thread ends by itself, and a garbage collector that drops this must not wait for it.
        drop(self.thread.lock().unwrap_or_else(|e| e.into_inner()).take());
    }
}

fn serve<D: Device>(mut model: Model<D>, mut sampler: Sampler<D>, rx: &Receiver<Command<D>>) {
    let mut held: Option<Command<D>> = None;
    loop {
        // Take in what has arrived; stop at the first command that needs the batch to be empty.
        while held.is_none() {
            let next = if sampler.idle() {
                match rx.recv() {
                    Ok(c) => c,
                    Err(_) => return,
                }
            } else {
                match rx.try_recv() {
                    Ok(c) => c,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => break,
                }
            };
            match next {
                Command::Sample(job) => sampler.submit(&model, job),
                other => held = Some(other),
            }
        }
        if !sampler.idle() {
            if let Err(p) = catch_unwind(AssertUnwindSafe(|| sampler.step(&mut model))) {
                sampler.fail(&model, &panic_error(&*p));
            }
            continue;
        }
        match held.take() {
            Some(Command::Run(task)) => task(Some(&mut model)),
            Some(Command::Close(done)) => {
                let dev = model.dev.clone();
                drop(sampler);
                drop(model);
                dev.trim();
                drop(dev);
                done();
                return;
            }
            Some(Command::Sample(_)) | None => {}
        }
    }
}
