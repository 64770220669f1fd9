// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/bench/protocol"
)

// option is an option of Varve that is measured at several settings.
type option struct {
	id, name, text string
	set            func(*protocol.Request, int64)
	settings       []setting // the first is the default
}

// setting is a value of an option.
type setting struct {
	name  string
	value int64
}

// spelled returns settings in the order of their values, after the default, which is 0.
func spelled(spell func(int64) string, values ...int64) []setting {
	all := []setting{{"default", 0}}
	for _, v := range values {
		all = append(all, setting{spell(v), v})
	}
	return all
}

// allOptions are the options that matter.
var allOptions = []option{
	{
		id: "concurrency", name: "Concurrency", settings: spelled(grouped, 1, 2, 4, 8, 16, 32),
		text: "The largest number of chunks in flight; for a far store, of requests. The default is twice the number of processors, but at least 8, and 32 for a far store.",
		set:  func(q *protocol.Request, n int64) { q.Concurrency = int(n) },
	},
	{
		id: "budget", name: "Budget", settings: spelled(bytesOf, 4*mib, 16*mib, 64*mib),
		text: "The largest number of bytes that a call has in flight, besides what it returns. The default is the larger of 64 MiB and four times " +
			"the largest chunk for every processor, within Go's memory limit. The memory in the tables includes what was read.",
		set: func(q *protocol.Request, n int64) { q.Budget = n },
	},
	{
		id: "index-cache", name: "Shards.IndexCache", settings: append(spelled(bytesOf), setting{"none", -1}),
		text: "The largest number of bytes of shard indexes that an array keeps. The default is 16 MiB.",
		set:  func(q *protocol.Request, n int64) { q.IndexCache = n },
	},
	{
		id: "gap", name: "Shards.Gap", settings: slices.Insert(spelled(bytesOf, 16*kib, 256*kib, mib, 4*mib), 1, setting{"neighbours", -1}),
		text: "The largest number of bytes between two ranges of a shard that are read as one. For a far store, the default is 4 MiB divided by " +
			"the number of concurrent requests, which is 128 KiB with 32 of them; for files it is 16 KiB. \"Neighbours\" merges only adjacent ranges.",
		set: func(q *protocol.Request, n int64) { q.Gap = n },
	},
	{
		id: "durability", name: "Durability", settings: []setting{{"Sync (default)", 0}, {"Flush", 1}},
		text: "When writes survive a power cut: with `Sync` when the call returns, with `Flush` some time later, when the system has written them back.",
		set:  func(q *protocol.Request, n int64) { q.Sync = n == 0 },
	},
}

// tryouts are the rows that measure options. Their names begin with those of the options.
// Reads use local and far stores.
func tryouts(z size) []row {
	all := protocol.Request{Work: protocol.ReadAll}
	rows := []row{
		{id: "concurrency/zstd", title: "read all of zstd", set: "zstd", request: all},
		{id: "budget/zstd", title: "read all of zstd", set: "zstd", request: all},
		{id: "budget/shard", title: "read all of shard", set: "shard", request: all},
		{
			id: "index-cache/tiny", title: fmt.Sprintf("read %d random inner chunks of the one shard of tiny, 8 at a time", z.inner), set: "tiny",
			regions: "some-inner", request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 8},
		},
		{
			id: "gap/planes", title: fmt.Sprintf("read %d planes along every axis of shard, one by one", z.planes), set: "shard",
			regions: "planes", request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 1},
		},
	}
	// A copy with a far store follows each row.
	for i := 0; i < len(rows); i += 2 {
		far := rows[i]
		far.id, far.title, far.remote = far.id+"-far", far.title+", from afar", true
		rows = slices.Insert(rows, i+1, far)
	}
	return append(rows, row{
		id: "durability/copy", title: "read raw by chunks and write it anew, 4 at a time", set: "raw", regions: "chunks",
		request: protocol.Request{Work: protocol.Copy, Concurrency: 4},
	}, row{
		id: "durability/append", title: fmt.Sprintf("append %d days one by one to days-listed", z.days), set: "days-listed", seeded: true,
		request: protocol.Request{Work: protocol.Append, Count: z.days},
	})
}

// apply returns the program once for every setting of an option.
func (c candidate) apply(o option) (all []candidate) {
	for _, x := range o.settings {
		at := c
		at.name, at.adjust = x.name, func(q *protocol.Request) { o.set(q, x.value) }
		all = append(all, at)
	}
	return all
}

// optionOf returns the option that a row measures.
func optionOf(id string) option {
	return allOptions[slices.IndexFunc(allOptions, func(o option) bool { return o.id == question(id) })]
}

// try measures options. It reads less than the comparison with other programs, so that it
// takes minutes.
func try(ctx context.Context, s settings) error {
	s.size.planes, s.size.inner, s.size.days = 2, 200, 30
	rows := tryouts(s.size)
	if len(s.rows) > 0 {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !named(r.id, s.rows) })
	}
	found, missing, err := present(s.cache, []string{"varve"})
	if err != nil {
		return err
	}
	if run, err := offer(s, rows, func(r row) (id, title string) { return r.id, r.title }, found, missing); !run {
		return err
	}
	e := &effects{Machine: describe(s, nil)}
	e.Machine.Versions = e.Machine.Versions[:2] // no other program takes part
	if e.Rows, err = tryAll(ctx, s, rows, found[0]); err != nil {
		return err
	}
	return save(s.out, e)
}

// tryAll runs rows; the settings of each take turns.
func tryAll(ctx context.Context, s settings, rows []row, varve candidate) ([]measured, error) {
	return measureAll(ctx, s, rows, func(r row) []candidate { return varve.apply(optionOf(r.id)) })
}
