// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// size is the size of the data sets. Everything else is the same in all sizes.
type size struct {
	name     string
	cube     int64    // elements along an axis of the cubes
	cells    [2]int64 // small chunks along the axes
	tiny     int64    // inner chunks of 4³ along an axis of one shard
	points   int
	planes   int64 // along every axis
	inner    int   // number of random inner chunks of the tiny ones
	days     int   // that are appended
	edges    int64 // that are listed
	run      int64 // chunks of one run
	arrays   int   // of a group
	flying   []int // concurrent regions
	slow     time.Duration
	requests []int // concurrent requests to a far store
}

var sizes = []size{
	{
		name: "small", cube: 512, cells: [2]int64{100, 100}, tiny: 32, points: 1000, planes: 4, inner: 1000, days: 30, edges: 100_000,
		run: 1_000_000, arrays: 1000, flying: []int{1, 2, 4, 8}, slow: 3 * time.Second, requests: []int{8, 32},
	},
	{
		name: "full", cube: 1024, cells: [2]int64{250, 400}, tiny: 64, points: 10_000, planes: 8, inner: 10_000, days: 365,
		edges: 1_000_000, run: 10_000_000, arrays: 5000, flying: []int{1, 2, 4, 8}, slow: 2 * time.Minute, requests: []int{8, 32, 128},
	},
}

func sizeOf(name string) (size, error) {
	for _, s := range sizes {
		if s.name == name {
			return s, nil
		}
	}
	return size{}, fmt.Errorf("no size %q; use small or full", name)
}

// chunk is the edge of the chunks of a cube, and inner that of its inner chunks.
func (s size) chunk() int64  { return s.cube / 4 }
func (s size) inside() int64 { return s.cube / 16 }

// scaled scales edges of an axis of 1024 elements to the cube.
func (s size) scaled(edges ...int64) []int64 {
	for i := range edges {
		edges[i] = edges[i] * s.cube / 1024
	}
	return edges
}
