// SPDX-License-Identifier: Apache-2.0

package doctor

// advise adds what follows from the findings.
func (d *doctor) advise() {
	r := d.report
	add := func(text string) { r.Advice = append(r.Advice, text) }
	locked := r.Of("locks") == Holds
	swaps := r.Of("create_only") == Holds && r.Of("compare_and_swap") == Holds
	if locked || swaps {
		add("Several programs may append to one array and write to its chunks at once.")
	} else {
		add("Let only one program write at a time, and say so with --single-writer: this store cannot tell writers apart.")
	}
	if !locked && swaps && r.Of("conditional_delete") == Fails {
		add("Superseded chunks and those of writers that crashed stay until varve vacuum --single-writer, beside which no other program may write: the store does not delete on conditions.")
	}
	if !locked && r.Of("conditional_delete") == Holds && r.Of("delete_race") == Fails {
		add("Do not shrink arrays or run varve vacuum beside writers: a deletion can hit what was just written.")
	}
	if r.Of("list") == Fails {
		add("Consolidate the metadata of groups (varve consolidate): their members cannot be listed.")
	}
	if r.Of("read_after_write") == Fails || r.Of("list_after_write") == Fails {
		add("Do not write living arrays to this store, and look for a cache before it: reads and listings lag behind writes.")
	}
	if r.Of("deletes") == Fails {
		add("Pass --missing 403 if this user may read but not list, and store every chunk (StoreFill).")
	}
	if r.Of("ranges") == Fails {
		add("Do not use shards: every read of an inner chunk transfers the whole shard.")
	}
}
