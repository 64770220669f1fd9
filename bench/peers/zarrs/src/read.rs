// SPDX-License-Identifier: Apache-2.0

//! Work that reads.

use crate::request::{Request, Result, Sum, Timer, repeat};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon_iter_concurrent_limit::ConcurrentLimit;
use serde_json::Value;
use std::sync::Arc;
use zarrs::array::chunk_cache::{ChunkCache, ChunkCachePartialDecoderLruChunkLimit};
use zarrs::array::{ArrayBytes, ArrayShardedReadableExt, ArrayShardedReadableExtCache, ArraySubset, CodecOptions};
use zarrs::group::Group;

pub fn all(request: &Request) -> Result<Value> {
    let timer = Timer::start();
    let array = request.array()?;
    let data = array.retrieve_array_subset::<ArrayBytes>(&array.subset_all())?.into_fixed()?;
    let times = timer.stop();
    let (checking, sum) = (Timer::start(), Sum::new(0));
    sum.add(0, &data);
    Ok(sum.answer(times, checking.stop().0))
}

pub fn regions(request: &Request) -> Result<Value> {
    let (boxes, sum) = (request.boxes()?, Sum::new(request.number("check")));
    let timer = Timer::start();
    let array = request.array()?;
    let (cache, options) = (ArrayShardedReadableExtCache::new(&array), request.options());
    // The cache keeps indexes of shards; a region that is a shard, or of an array without shards, has no use for it.
    let inner = cache.array_is_sharded() && boxes.first().is_some_and(|b| !is_chunk(&array, b));
    let one = |i: usize| -> Result<()> {
        let data: ArrayBytes = if inner {
            array.retrieve_array_subset_sharded_opt(&cache, &boxes[i], &options)?
        } else {
            array.retrieve_array_subset_opt(&boxes[i], &options)?
        };
        sum.add(i, &data.into_fixed()?);
        Ok(())
    };
    (0..boxes.len()).into_par_iter().concurrent_limit(request.number("concurrency")).try_for_each(one)?;
    Ok(sum.answer(timer.stop(), 0.0))
}

fn is_chunk(array: &zarrs::array::Array<dyn zarrs::storage::ReadableStorageTraits>, region: &ArraySubset) -> bool {
    array
        .chunks_in_array_subset(region)
        .is_ok_and(|chunks| chunks.is_some_and(|c| array.chunks_subset(&c).is_ok_and(|s| &s == region)))
}

/// There is no call for several elements, so they are read one by one on all cores, through a cache of partial decoders.
pub fn points(request: &Request) -> Result<Value> {
    let points = request.numbers("points", request.number("rank"))?;
    let timer = Timer::start();
    let cache = ChunkCachePartialDecoderLruChunkLimit::new(Arc::new(request.array()?), 1 << 20);
    let options = CodecOptions::default().with_concurrent_target(1);
    let elements = (0..points.len()).into_par_iter().map(|i| -> Result<Vec<u8>> {
        let element = ArraySubset::new_with_start_shape(points[i].clone(), vec![1; points[i].len()])?;
        let data: ArrayBytes = cache.retrieve_array_subset(&element, &options)?;
        Ok(data.into_fixed()?.into_owned())
    });
    let data = elements.collect::<Result<Vec<_>>>()?.concat();
    let times = timer.stop();
    let sum = Sum::new(0);
    sum.add(0, &data);
    Ok(sum.answer(times, 0.0))
}

pub fn open(request: &Request) -> Result<Value> {
    let (data, times) = repeat(|| {
        let array = request.array()?;
        let last = array.shape().iter().map(|n| n - 1..*n).collect::<Vec<_>>();
        let data: ArrayBytes = array.retrieve_array_subset(&ArraySubset::new_with_ranges(&last))?;
        Ok(data.into_fixed()?.into_owned())
    })?;
    let sum = Sum::new(0);
    sum.add(0, &data);
    Ok(sum.answer(times, 0.0))
}

pub fn members(request: &Request) -> Result<Value> {
    let (total, times) = repeat(|| {
        let group = Group::open(request.listable("store")?, "/")?;
        Ok(group.child_arrays()?.iter().flat_map(|a| a.shape().to_vec()).sum::<u64>())
    })?;
    let sum = Sum::new(0);
    sum.add(0, &total.to_le_bytes());
    Ok(sum.answer(times, 0.0))
}
