//! What sampling promises: reproducible whatever else runs, log-probs of the policy itself, true stop reasons, prompt cancel.

mod levels;

use hone_engine::cpu::Cpu;
use hone_engine::device::Device;
use hone_engine::formats::Checkpoint;
use hone_engine::layout::Layout;
use hone_engine::model::{create_model, Batch, Model};
use hone_engine::request::{Sample, SampleEvent, SampleJob, SampleRequest, StopReason, Stream};
use hone_engine::sampler::Sampler;
use hone_engine::session::Session;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

const CONFIG: &str = r#"{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","vocab_size":97,"hidden_size":48,"intermediate_size":80,
"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":12,"rms_norm_eps":1e-5,"rope_theta":10000.0,
"tie_word_embeddings":true,"max_position_embeddings":256,"hidden_act":"silu","torch_dtype":"float32","initializer_range":0.3}"#;

fn model(name: &str, full: bool) -> Model<Cpu> {
    model_of(CONFIG, name, full)
}

fn model_of(config: &str, name: &str, full: bool) -> Model<Cpu> {
    let p = std::env::temp_dir().join(format!("hone-sampling-{name}-{}", std::process::id()));
    create_model(&p, config, 7).unwrap();
    let file = Checkpoint::open(&p).unwrap();
    let m = Model::load(Arc::new(Cpu::new(2)), &file, full, &mut |_, _| {}).unwrap();
    let _ = std::fs::remove_dir_all(&p);
    m
}

type Out = Arc<Mutex<Option<Result<Vec<Sample>, &'static str>>>>;

fn job(requests: Vec<SampleRequest>, cancel: Arc<AtomicBool>) -> (SampleJob, Out) {
    let out: Out = Arc::default();
    let o = out.clone();
    let sink = move |e| match e {
        SampleEvent::Done(s) => *o.lock().unwrap() = Some(Ok(s)),
        SampleEvent::Failed(e) => *o.lock().unwrap() = Some(Err(e.code)),
        _ => {}
    };
    (SampleJob { requests, stream: Stream::default(), cancel, sink: Box::new(sink) }, out)
}

fn run(m: &mut Model<Cpu>, requests: Vec<SampleRequest>) -> Result<Vec<Sample>, &'static str> {
    let mut s = Sampler::new(m, 8 << 20);
    let (j, out) = job(requests, Arc::default());
    s.submit(m, j);
    while !s.idle() {
        s.step(m);
    }
    let r = out.lock().unwrap().take();
    r.unwrap()
}

fn request(seed: u64, prompt: usize) -> SampleRequest {
    SampleRequest {
        prompt: (0..prompt).map(|i| ((i * 31 + seed as usize * 7) % 97) as i32).collect(),
        max_tokens: 24,
        seed,
        ..Default::default()
    }
}

#[test]
fn a_sample_does_not_depend_on_what_else_runs() {
    for full in [true, false] {
        let mut m = model("alone", full);
        let requests: Vec<_> = (0..7)
            .map(|i| SampleRequest {
                n: 1 + i % 3,
                top_k: (i % 2) * 5,
                temperature: 0.5 + i as f32 * 0.2,
                ..request(i as u64, 1 + 9 * i)
            })
            .collect();
        let together = run(&mut m, requests.clone()).unwrap();
        let mut alone = Vec::new();
        for (i, r) in requests.iter().enumerate() {
            alone.extend(run(&mut m, vec![r.clone()]).unwrap().into_iter().map(|s| Sample { request: i, ..s }));
        }
        assert_eq!(together.len(), alone.len());
        for (a, b) in together.iter().zip(&alone) {
            assert_eq!((a.request, a.index, &a.tokens, &a.logprobs), (b.request, b.index, &b.tokens, &b.logprobs));
        }
        assert_ne!(together[1].tokens, together[2].tokens);
    }
}

#[test]
fn logprobs_are_those_of_forward_whatever_the_settings() {
    for full in [true, false] {
        let mut m = model("forward", full);
        let settings = [
            SampleRequest { n: 4, ..request(1, 20) },
            SampleRequest { temperature: 0.7, ..request(2, 33) },
            SampleRequest { temperature: 0.0, ..request(3, 5) },
            SampleRequest { top_k: 3, top_p: 0.9, min_p: 0.05, ..request(4, 17) },
        ];
        for s in run(&mut m, settings.to_vec()).unwrap() {
            let ids = [settings[s.request].prompt.clone(), s.tokens.clone()].concat();
            let p = settings[s.request].prompt.len();
            let f = m
                .forward(
                    Batch { layout: Layout::sequences(&[ids.len()]).unwrap(), ids, mask: vec![] },
                    false,
                    1.0,
                    None,
                )
                .unwrap();
            for (a, b) in s.logprobs.iter().zip(&f.logprobs[p..]) {
                assert!((a - b).abs() < 1e-4, "{a} {b}");
            }
        }
    }
}

#[test]
fn draws_follow_the_distribution() {
    let mut m = model("distribution", true);
    let r = SampleRequest { n: 4000, max_tokens: 1, top_logprobs: 97, ..request(5, 9) };
    let samples = run(&mut m, vec![r.clone()]).unwrap();
    let mut p = vec![0f64; 97];
    for &(id, lp) in &samples[0].top_logprobs[0] {
        p[id as usize] = f64::from(lp).exp();
    }
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-4);
    let mut count = vec![0f64; 97];
    samples.iter().for_each(|s| count[s.tokens[0] as usize] += 1.0);
    // Chi-square over the tokens expected often enough.
    let chi: f64 =
        (0..97).filter(|&i| p[i] * 4000.0 > 20.0).map(|i| (count[i] - p[i] * 4000.0).powi(2) / (p[i] * 4000.0)).sum();
    let cells = (0..97).filter(|&i| p[i] * 4000.0 > 20.0).count() as f64;
    assert!(chi < cells + 5.0 * (2.0 * cells).sqrt(), "chi² {chi} over {cells} cells");
    // Truncation keeps exactly the best k.
    let top = run(&mut m, vec![SampleRequest { top_k: 3, n: 200, ..r.clone() }]).unwrap();
    let best: Vec<i32> = samples[0].top_logprobs[0][..3].iter().map(|t| t.0).collect();
    assert!(top.iter().all(|s| best.contains(&s.tokens[0])));
    let allowed = run(&mut m, vec![SampleRequest { allowed: vec![vec![8, 4]], n: 50, ..r }]).unwrap();
    assert!(allowed.iter().all(|s| [4, 8].contains(&s.tokens[0])));
}

#[test]
fn stop_reasons_are_true() {
    let mut m = model("stop", true);
    let free = run(&mut m, vec![request(9, 12)]).unwrap().remove(0);
    assert_eq!((free.stop, free.tokens.len()), (StopReason::Length, 24));
    let stop_id = SampleRequest { stop_ids: vec![free.tokens[7]], ..request(9, 12) };
    let s = run(&mut m, vec![stop_id]).unwrap().remove(0);
    assert_eq!(s.stop, StopReason::Eos);
    assert_eq!(s.tokens[..], free.tokens[..s.tokens.len()]);
    assert_eq!(s.tokens.last(), Some(&free.tokens[7]));
    let sequence = SampleRequest { stop_sequences: vec![free.tokens[5..8].to_vec()], ..request(9, 12) };
    let s = run(&mut m, vec![sequence]).unwrap().remove(0);
    assert_eq!((s.stop, s.tokens.len()), (StopReason::StopSequence, 8));
    let s = run(&mut m, vec![SampleRequest { max_tokens: 100, ..request(9, 250) }]).unwrap().remove(0);
    assert_eq!((s.stop, s.tokens.len()), (StopReason::ContextFull, 6));
}

#[test]
fn bad_requests_are_named() {
    let mut m = model("bad", true);
    let mut code = |r: SampleRequest| run(&mut m, vec![r]).err();
    assert_eq!(code(request(1, 0)), Some("bad-request"));
    assert_eq!(code(SampleRequest { max_tokens: 0, ..request(1, 3) }), Some("bad-request"));
    assert_eq!(code(SampleRequest { temperature: f32::NAN, ..request(1, 3) }), Some("bad-request"));
    assert_eq!(code(SampleRequest { top_p: 0.0, ..request(1, 3) }), Some("bad-request"));
    assert_eq!(code(SampleRequest { prompt: vec![200], ..request(1, 3) }), Some("bad-token"));
    assert_eq!(code(request(1, 256)), Some("too-long"));
}

#[test]
fn little_memory_lowers_concurrency_and_never_fails_what_can_run_alone() {
    let mut m = model("memory", true);
    // 16 tokens of 2 layers x 2 heads x 12 dims, keys and values: 6 KiB a page. Room for 8 pages.
    let mut s = Sampler::new(&m, 8 * 6 * 1024);
    let requests = vec![SampleRequest { n: 9, ..request(1, 20) }, SampleRequest { n: 5, ..request(2, 40) }];
    let want = run(&mut m, requests.clone()).unwrap();
    let (j, out) = job(requests, Arc::default());
    s.submit(&m, j);
    while !s.idle() {
        s.step(&mut m);
    }
    let got = out.lock().unwrap().take().unwrap().unwrap();
    assert_eq!(got.iter().map(|s| &s.tokens).collect::<Vec<_>>(), want.iter().map(|s| &s.tokens).collect::<Vec<_>>());
    let (j, out) = job(vec![SampleRequest { max_tokens: 150, ..request(1, 20) }], Arc::default());
    s.submit(&m, j);
    assert_eq!(out.lock().unwrap().take().unwrap().err(), Some("kv-too-small"));
}

/// Samples are told as they end, each once, after their tokens; the call's answer has them in order.
#[test]
fn samples_are_told_as_they_end() {
    let mut m = model("told", true);
    let requests: Vec<_> =
        [19, 3, 11].map(|max_tokens| SampleRequest { n: 2, max_tokens, ..request(max_tokens as u64, 9) }).to_vec();
    let mut s = Sampler::new(&m, 8 << 20);
    type Log = Vec<(usize, usize, Option<Vec<i32>>)>;
    let (log, answer): (Arc<Mutex<Log>>, Arc<Mutex<Vec<Sample>>>) = Default::default();
    let (to, all) = (log.clone(), answer.clone());
    let sink = move |e| match e {
        SampleEvent::Token { request, index, .. } => to.lock().unwrap().push((request, index, None)),
        SampleEvent::Sample(s) => to.lock().unwrap().push((s.request, s.index, Some(s.tokens))),
        SampleEvent::Done(s) => *all.lock().unwrap() = s,
        SampleEvent::Failed(e) => panic!("{e}"),
    };
    let stream = Stream { tokens: true, samples: true };
    s.submit(&m, SampleJob { requests, stream, cancel: Arc::default(), sink: Box::new(sink) });
    let mut ended_after = Vec::new();
    while !s.idle() {
        s.step(&mut m);
        ended_after.push(log.lock().unwrap().iter().filter(|(.., tokens)| tokens.is_some()).count());
    }
    // The first step draws two tokens, of the prompt and after it. Short samples are told while the others run.
    assert_eq!([0, 1, 8, 9, 16, 17].map(|step| ended_after[step]), [0, 2, 2, 4, 4, 6]);
    let log = log.lock().unwrap();
    for s in answer.lock().unwrap().iter() {
        let own: Vec<_> = log.iter().filter(|l| (l.0, l.1) == (s.request, s.index)).collect();
        assert_eq!(own.len(), s.tokens.len() + 1);
        assert_eq!(own.last().unwrap().2.as_ref(), Some(&s.tokens));
        assert!(own[..s.tokens.len()].iter().all(|l| l.2.is_none()));
    }
    assert_eq!(answer.lock().unwrap().len(), 6);
}

/// A model that computes NaN fails the call that met it, at the prompt or later, and no other.
#[test]
fn logits_that_are_not_finite_end_their_call_alone() {
    let mut m = model_of(&CONFIG.replace("_embeddings\":true", "_embeddings\":false"), "nan", true);
    let h = m.config.hidden_size;
    m.for_each_param(|dev, p| {
        if p.name == "model.embed_tokens.weight" {
            dev.matrix_buf_mut(&mut p.data).unwrap()[5 * h..6 * h].fill(f32::NAN);
        }
    });
    let good = SampleRequest { allowed: vec![vec![6]; 200], ..request(1, 1) };
    let want = run(&mut m, vec![good.clone()]).unwrap().remove(0).tokens;
    let at_prompt = SampleRequest { prompt: vec![3, 5], n: 3, ..good.clone() };
    let later = SampleRequest { prompt: vec![3, 7], n: 3, allowed: vec![vec![6], vec![5]], ..good.clone() };
    // Room for few samples at once, so that some of a failed call are still waiting.
    let mut s = Sampler::new(&m, 8 * 6 * 1024);
    for _ in 0..2 {
        let outs = [vec![good.clone(), at_prompt.clone()], vec![later.clone()], vec![good.clone()]].map(|requests| {
            let (j, out) = job(requests, Arc::default());
            s.submit(&m, j);
            out
        });
        while !s.idle() {
            s.step(&mut m);
        }
        let [first, second, third] = outs.map(|o| o.lock().unwrap().take().unwrap());
        assert_eq!(first.err(), Some("non-finite-logits"));
        assert_eq!(second.err(), Some("non-finite-logits"));
        assert_eq!(third.unwrap()[0].tokens, want);
    }
}

#[test]
fn sessions_stream_cancel_join_and_close() {
    let (tx, rx) = channel();
    let session = Session::open(
        || Ok(model("session", true)),
        |_| 8 << 20,
        |m| m.parameters(),
        move |r| tx.send(r.is_ok()).unwrap(),
    );
    assert!(rx.recv().unwrap());
    // A long job, cancelled by its own tenth token: at most one more is drawn.
    let cancel: Arc<AtomicBool> = Arc::default();
    let seen = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = channel();
    let (c, n, late) = (cancel.clone(), seen.clone(), tx.clone());
    session.sample(SampleJob {
        requests: vec![SampleRequest { max_tokens: 200, ..request(1, 20) }],
        stream: Stream { tokens: true, samples: false },
        cancel,
        sink: Box::new(move |e| match e {
            SampleEvent::Token { .. } => {
                if n.fetch_add(1, SeqCst) + 1 == 10 {
                    c.store(true, SeqCst);
                }
            }
            SampleEvent::Done(s) => late.send((s[0].stop, s[0].tokens.len())).unwrap(),
            SampleEvent::Failed(e) => panic!("{e}"),
            SampleEvent::Sample(_) => panic!("not asked for"),
        }),
    });
    // Another job joins and finishes on its own terms.
    let (j, out) = job(vec![request(2, 5)], Arc::default());
    session.sample(j);
    let (stop, tokens) = rx.recv().unwrap();
    assert_eq!(stop, StopReason::Cancelled);
    assert!((10..=11).contains(&tokens));
    let (tx, rx) = channel();
    let t = tx.clone();
    session.call(|m| Ok(m.config.vocab_size), move |r| t.send(r.map_err(|e| e.code)).unwrap());
    assert_eq!(rx.recv().unwrap(), Ok(97));
    assert_eq!(
        out.lock().unwrap().take().unwrap().unwrap()[0].tokens.len(),
        24,
        "calls wait for the samples before them"
    );
    // A bug in one call is an error of that call.
    let t = tx.clone();
    session.call(|_| panic!("made up"), move |r: Result<usize, _>| t.send(r.map_err(|e| e.code)).unwrap());
    assert_eq!(rx.recv().unwrap(), Err("engine-panic"));
    let (done, closed) = channel();
    session.close(move || done.send(()).unwrap());
    closed.recv().unwrap();
    session.call(|m| Ok(m.config.layers), move |r| tx.send(r.map_err(|e| e.code)).unwrap());
    assert_eq!(rx.recv().unwrap(), Err("closed"));
}
