// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// firstRow has the milliseconds from the request to the first byte of an array that no
// request has named before.
type firstRow struct {
	What    string
	Seconds []float64
}

// first measures the document and a chunk of a large array, from a new server each time.
func (b *bench) first(ctx context.Context) error {
	rows := []*firstRow{{What: "the document"}, {What: "then a chunk"}, {What: "a chunk at once"}}
	view := "/@regular/" + node + "/" + huge + "/"
	for range b.rounds {
		for at, paths := range map[int][]string{0: {view + "zarr.json", view + "c/3/3/3"}, 2: {view + "c/3/3/3"}} {
			s, err := b.startVarve(ctx)
			if err != nil {
				return err
			}
			for k, path := range paths {
				c, err := dial(s.address)
				if err != nil {
					return err
				}
				begun := time.Now()
				_, err = fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
				if err == nil {
					_, err = c.read.ReadByte()
				}
				if err != nil {
					return err
				}
				rows[at+k].Seconds = append(rows[at+k].Seconds, time.Since(begun).Seconds())
				if err := c.conn.Close(); err != nil {
					return err
				}
			}
			if err := s.stop(); err != nil {
				return err
			}
		}
	}
	b.report.First = rows
	return nil
}

// memoryRow is the most memory that a server has had after requests of many kinds.
type memoryRow struct {
	What  string
	Bytes int64
}

// memoryConnections is the number of connections that ask at once.
const memoryConnections = 64

// memory measures the memory of servers, each under one load.
func (b *bench) memory(ctx context.Context) error {
	var keys, views, pinned, values []string
	for _, size := range keySizes {
		for i := range size.keys {
			keys = append(keys, fmt.Sprintf("/%s/%s/c/%d", node, keyArray(size), i))
		}
	}
	views = viewPaths(viewAddress())
	for i := range 16 {
		for j := range 16 {
			pinned = append(pinned, fmt.Sprintf("/@regular,chunks=500x500/%s/%s/c/%d/%d", node, wide, i, j))
		}
	}
	for i := range 500 {
		values = append(values, fmt.Sprintf("/@values/%s/%s?format=npy&select=%d:%d", node, monthly, i, i+100))
	}
	mixed := append(append(append(append([]string(nil), keys...), views...), pinned...), values...)
	for _, load := range []struct {
		what  string
		paths []string
	}{{"nothing", nil}, {"stored keys", keys}, {"a view", views}, {"a view with another shape", pinned}, {"values", values}, {"all of these", mixed}} {
		s, err := b.startVarve(ctx)
		if err != nil {
			return err
		}
		if load.paths != nil {
			shuffled := make([]string, len(load.paths))
			for i := range shuffled { // 7 and the length have no common factor, or nearly so
				shuffled[i] = load.paths[(i*7919)%len(load.paths)]
			}
			if _, _, _, err := all(ctx, s.address, memoryConnections, shuffled); err != nil {
				return err
			}
		}
		b.report.Memory = append(b.report.Memory, &memoryRow{load.what, s.peak()})
		if err := s.stop(); err != nil {
			return err
		}
	}
	return nil
}
