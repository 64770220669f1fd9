// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
)

// row is one row of the tables: work that every candidate does on one store.
type row struct {
	id, title string
	set       string
	request   protocol.Request
	regions   string     // "" or the boxes of the work: chunks, inner, some-inner, planes
	points    int        // that are read
	seeded    bool       // the target begins as a copy of the set instead of empty
	remote    bool       // the store is a web server with latency
	target    *zarr.Spec // of a rechunk
	link      *link      // the way to the store in a bucket, if it is in one
}

// rowsOf makes rows.
type rowsOf struct {
	size size
	all  []row
}

// brief are the rows of the small size, which takes minutes. The full size has all rows.
var brief = []string{
	"1/*/all", "1/*/chunks-4", "1/shard/inner-4", "2/raw-uneven/all", "2/zstd-*/all", "2/zstd-strong/chunks-4", "2/shard-uneven/all",
	"2/shard-uneven/inner-4", "3/*/all", "4", "5/blosc/all", "6/raw/points", "6/shard", "6/zstd/planes", "7/*/not-synced",
	"7/days-listed/synced", "8/open-*", "8/group*", "9", "10/*/not-synced", "10/raw/synced", "10/shard/synced",
}

// allRows returns the rows of all groups.
func allRows(z size) []row {
	r := rowsOf{size: z}
	for _, name := range []string{"raw", "zstd", "shard"} {
		r.whole("1", name)
	}
	for _, name := range []string{"raw", "zstd", "shard"} {
		r.chunks("1", name, "chunks", z.flying...)
	}
	r.chunks("1", "shard", "inner", z.flying...)
	r.whole("1", "shard-small")
	r.chunks("1", "shard-small", "inner", 8)
	for _, name := range []string{"raw-uneven", "zstd-uneven", "raw-strong", "zstd-strong", "shard-uneven"} {
		r.whole("2", name)
		r.chunks("2", name, "chunks", 4)
	}
	r.chunks("2", "shard-uneven", "inner", 4)
	for _, name := range []string{"cells-raw", "cells-zstd"} {
		r.whole("3", name)
		r.chunks("3", name, "chunks", 4)
	}
	r.whole("4", "tiny")
	r.chunks("4", "tiny", "some-inner", 4)
	r.whole("5", "blosc")
	r.chunks("5", "blosc", "chunks", 4)
	r.places()
	for _, name := range []string{"days-regular", "days-listed"} {
		r.appends(name, false)
		r.appends(name, true)
	}
	r.opens()
	r.requests()
	for _, name := range []string{"raw", "zstd", "shard", "zstd-uneven", "cells-raw"} {
		r.copies(name, false)
		r.copies(name, true)
	}
	return r.all
}

// places returns rows of random elements and of planes.
func (r *rowsOf) places() {
	for _, name := range []string{"raw", "zstd", "shard", "zstd-uneven"} {
		r.add(row{
			id: "6/" + name + "/points", title: fmt.Sprintf("read %d random elements of %s", r.size.points, name), set: name,
			points: r.size.points, request: protocol.Request{Work: protocol.ReadPoints},
		})
		r.add(row{
			id: "6/" + name + "/planes", title: fmt.Sprintf("read %d planes along every axis of %s, one by one", r.size.planes, name),
			set: name, regions: "planes", request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 1},
		})
	}
}

func (r *rowsOf) add(x row) { r.all = append(r.all, x) }

func (r *rowsOf) whole(group, name string) {
	r.add(row{id: group + "/" + name + "/all", title: "read all of " + name, set: name, request: protocol.Request{Work: protocol.ReadAll}})
}

func (r *rowsOf) chunks(group, name, regions string, flying ...int) {
	for _, n := range flying {
		r.add(row{
			id: fmt.Sprintf("%s/%s/%s-%d", group, name, regions, n), title: fmt.Sprintf("read %s by %s, %d at a time", name, regions, n),
			set: name, regions: regions, request: protocol.Request{Work: protocol.ReadRegions, Concurrency: n},
		})
	}
}

func (r *rowsOf) appends(name string, sync bool) {
	r.add(row{
		id: "7/" + name + durable(sync), title: fmt.Sprintf("append %d days one by one to %s, %s", r.size.days, name, words(sync)),
		set: name, seeded: true, request: protocol.Request{Work: protocol.Append, Count: r.size.days, Sync: sync},
	})
}

func durable(sync bool) string {
	if sync {
		return "/synced"
	}
	return "/not-synced"
}

// words describes the row in a sentence.
func words(sync bool) string { return strings.ReplaceAll(durable(sync)[1:], "-", " ") }

func (r *rowsOf) opens() {
	for _, name := range []string{"open-run", "open-edges", "raw"} {
		r.add(row{id: "8/" + name, title: "open " + name + " and read its last element", set: name, request: protocol.Request{Work: protocol.Open}})
	}
	for _, name := range []string{"group", "group-consolidated"} {
		r.add(row{id: "8/" + name, title: "open all arrays of " + name, set: name, request: protocol.Request{Work: protocol.Members}})
	}
}

func (r *rowsOf) requests() {
	for _, name := range []string{"zstd", "shard"} {
		for _, n := range r.size.requests {
			r.add(row{
				id: fmt.Sprintf("9/%s/all-%d", name, n), title: fmt.Sprintf("read all of %s from afar, %d requests at a time", name, n),
				set: name, remote: true, request: protocol.Request{Work: protocol.ReadAll, Concurrency: n},
			})
		}
	}
	r.add(row{
		id: "9/shard/planes", title: "read planes of shard from afar, one by one", set: "shard", remote: true, regions: "planes",
		request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 1},
	})
}

func (r *rowsOf) copies(name string, sync bool) {
	r.add(row{
		id: "10/" + name + durable(sync), title: "read " + name + " by chunks and write it anew, 4 at a time, " + words(sync), set: name,
		regions: "chunks", request: protocol.Request{Work: protocol.Copy, Concurrency: 4, Sync: sync},
	})
}

// chosen returns the rows that the patterns match, or without patterns those of the size.
func chosen(z size, patterns []string) []row {
	all := allRows(z)
	if len(patterns) == 0 {
		if z.name == "full" {
			return all
		}
		patterns = brief
	}
	return slices.DeleteFunc(all, func(r row) bool { return !named(r.id, patterns) })
}

// named reports whether a pattern equals the name, matches it, or is a prefix of it.
func named(id string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		match, _ := path.Match(p, id)
		return match || strings.HasPrefix(id+"/", p+"/")
	})
}
