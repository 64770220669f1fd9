// SPDX-License-Identifier: Apache-2.0

//! What a program is asked for, and what it measures.

use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use zarrs::array::{Array, ArraySubset, CodecOptions};
use zarrs::filesystem::FilesystemStore;
use zarrs::storage::storage_adapter::async_to_sync::{AsyncToSyncBlockOn, AsyncToSyncStorageAdapter};
use zarrs::storage::{ReadableStorageTraits, ReadableWritableListableStorageTraits};
use zarrs_object_store::AsyncObjectStore;
use zarrs_object_store::object_store::aws::AmazonS3Builder;
use zarrs_object_store::object_store::prefix::PrefixStore;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
pub type Readable = Arc<dyn ReadableStorageTraits>;
pub type Store = dyn ReadableWritableListableStorageTraits;

/// What the store of a bucket waits with.
struct Waiting(tokio::runtime::Runtime);

impl AsyncToSyncBlockOn for Waiting {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

/// The store below a prefix of a bucket. The client finds the server in the environment.
fn bucket(location: &str) -> Result<Arc<Store>> {
    let (bucket, prefix) = location.trim_start_matches("s3://").split_once('/').ok_or("no prefix")?;
    let client = AmazonS3Builder::from_env().with_bucket_name(bucket).build()?;
    let store = Arc::new(AsyncObjectStore::new(PrefixStore::new(client, prefix)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(Arc::new(AsyncToSyncStorageAdapter::new(store, Waiting(runtime))))
}

/// How many seconds short work is repeated for.
const LEAST: f64 = 0.2;

pub struct Request(pub Value);

impl Request {
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> usize {
        self.0[name].as_u64().unwrap_or_default() as usize
    }

    pub fn sync(&self) -> bool {
        self.0["sync"].as_bool().unwrap_or_default()
    }

    /// As many threads as requests are allowed where the store is far away, otherwise as there are cores. For regions that is what
    /// shows best with few of them at a time, and as many as there are at a time with more.
    pub fn configure(&self) -> Result<()> {
        let at_a_time = self.number("concurrency");
        let n = if self.text("regions").is_empty() { at_a_time } else { at_a_time.max(32) };
        let store = self.text("store");
        let far = (store.starts_with("http:") || store.starts_with("s3:")) && n > 0;
        if far {
            rayon::ThreadPoolBuilder::new().num_threads(n).build_global()?;
        }
        let mut config = zarrs::config::global_config_mut();
        config.set_include_zarrs_metadata(false);
        if far {
            config.set_codec_concurrent_target(n);
            config.set_chunk_concurrent_minimum(n);
        }
        Ok(())
    }

    pub fn readable(&self) -> Result<Readable> {
        let location = self.text("store");
        if location.starts_with("s3:") {
            return Ok(bucket(location)?);
        }
        if location.starts_with("http:") {
            return Ok(Arc::new(zarrs_http::HTTPStore::new(location)?));
        }
        Ok(Arc::new(FilesystemStore::new(location)?))
    }

    pub fn array(&self) -> Result<Array<dyn ReadableStorageTraits>> {
        Ok(Array::open(self.readable()?, "/")?)
    }

    pub fn target(&self) -> Result<Array<Store>> {
        Ok(Array::open(self.listable("target")?, "/")?)
    }

    /// The store of a folder or a bucket.
    pub fn listable(&self, name: &str) -> Result<Arc<Store>> {
        let location = self.text(name);
        if location.starts_with("s3:") {
            return Ok(bucket(location)?);
        }
        Ok(Arc::new(FilesystemStore::new(location)?))
    }

    /// The cores that are left for one of several regions at a time.
    pub fn options(&self) -> CodecOptions {
        let cores = rayon::current_num_threads();
        CodecOptions::default().with_concurrent_target((cores / self.number("concurrency").max(1)).max(1))
    }

    pub fn numbers(&self, name: &str, width: usize) -> Result<Vec<Vec<u64>>> {
        let bytes = std::fs::read(self.text(name))?;
        let all: Vec<u64> = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        Ok(all.chunks_exact(width).map(<[u64]>::to_vec).collect())
    }

    pub fn boxes(&self) -> Result<Vec<ArraySubset>> {
        let rank = self.number("rank");
        let rows = self.numbers("regions", 2 * rank)?;
        Ok(rows
            .iter()
            .map(|row| ArraySubset::new_with_ranges(&(0..rank).map(|k| row[k]..row[rank + k]).collect::<Vec<_>>()))
            .collect())
    }
}

/// The checksum: the CRC-32 of item i times 2i+1, modulo 2^64.
pub struct Sum {
    limit: usize,
    total: AtomicU64,
    bytes: AtomicU64,
}

impl Sum {
    pub fn new(limit: usize) -> Self {
        Self { limit, total: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    pub fn add(&self, i: usize, data: &[u8]) {
        self.bytes.fetch_add(data.len() as u64, Relaxed);
        let counted = if self.limit > 0 { &data[..self.limit.min(data.len())] } else { data };
        self.total.fetch_add(u64::from(crc32fast::hash(counted)).wrapping_mul(2 * i as u64 + 1), Relaxed);
    }

    pub fn answer(&self, (seconds, cpu): (f64, f64), checking: f64) -> Value {
        json!({
            "seconds": seconds, "cpu": cpu, "checking": checking,
            "bytes": self.bytes.load(Relaxed), "checksum": format!("{:016x}", self.total.load(Relaxed)),
        })
    }
}

pub struct Timer(Instant, f64);

impl Timer {
    pub fn start() -> Self {
        Self(Instant::now(), processor())
    }

    pub fn stop(&self) -> (f64, f64) {
        (self.0.elapsed().as_secs_f64(), processor() - self.1)
    }
}

/// The seconds that this process has taken of all cores.
fn processor() -> f64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Calls f until LEAST seconds have passed, and returns its last value and the mean times.
pub fn repeat<T>(mut f: impl FnMut() -> Result<T>) -> Result<(T, (f64, f64))> {
    let timer = Timer::start();
    let mut n = 0.0;
    loop {
        let value = f()?;
        n += 1.0;
        let (seconds, cpu) = timer.stop();
        if seconds >= LEAST {
            return Ok((value, (seconds / n, cpu / n)));
        }
    }
}
