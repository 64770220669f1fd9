// SPDX-License-Identifier: Apache-2.0

//! Work that writes.

use crate::request::{Request, Result, Store, Timer};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon_iter_concurrent_limit::ConcurrentLimit;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use zarrs::array::{Array, ArrayBytes, ArraySubset};
use zarrs::metadata::v3::MetadataV3;

pub fn copy(request: &Request) -> Result<Value> {
    let boxes = request.boxes()?;
    let timer = Timer::start();
    let (from, to, options) = (request.array()?, request.target()?, request.options());
    let one = |i: usize| -> Result<()> {
        let data: ArrayBytes = from.retrieve_array_subset_opt(&boxes[i], &options)?;
        to.store_array_subset_opt(&boxes[i], data, &options)?;
        Ok(())
    };
    (0..boxes.len()).into_par_iter().concurrent_limit(request.number("concurrency")).try_for_each(one)?;
    if request.sync() {
        sync(Path::new(request.text("target")))?;
    }
    let (seconds, cpu) = timer.stop();
    let size = from.data_type().fixed_size().unwrap_or_default() as u64;
    Ok(json!({"seconds": seconds, "cpu": cpu, "bytes": from.subset_all().num_elements() * size}))
}

/// Makes all files below a folder durable, and their names.
fn sync(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    Ok(File::open(folder)?.sync_all()?)
}

pub fn append(request: &Request) -> Result<Value> {
    if request.sync() {
        return Ok(json!({"unsupported": "nothing that it writes is synced"}));
    }
    let timer = Timer::start();
    let mut array = request.target()?;
    let mut bytes = 0;
    for _ in 0..request.number("count") {
        let shape = array.shape().to_vec();
        lengthen(&mut array)?;
        let plane = vec![shape[0] as f32; (shape[1] * shape[2]) as usize];
        let day = ArraySubset::new_with_ranges(&[shape[0]..shape[0] + 1, 0..shape[1], 0..shape[2]]);
        array.store_array_subset(&day, &plane)?;
        array.store_metadata()?;
        bytes += 4 * plane.len();
    }
    let (seconds, cpu) = timer.stop();
    Ok(json!({"seconds": seconds, "cpu": cpu, "bytes": bytes}))
}

/// Makes the first axis longer by one; one that is listed gets another edge.
fn lengthen(array: &mut Array<Store>) -> Result<()> {
    let mut shape = array.shape().to_vec();
    shape[0] += 1;
    let grid = array.chunk_grid().metadata();
    if grid.name() != "rectilinear" {
        array.set_shape(shape)?;
        return Ok(());
    }
    let mut configuration = serde_json::to_value(grid.configuration())?;
    configuration["chunk_shapes"][0].as_array_mut().ok_or("the first axis has no list of edges")?.push(json!(1));
    let grid: MetadataV3 = serde_json::from_value(json!({"name": "rectilinear", "configuration": configuration}))?;
    // The chunks that there are keep their edges.
    unsafe { array.set_shape_and_chunk_grid(shape, grid)? };
    Ok(())
}
