// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
)

// viewRow is how long a view takes to be read by some connections, beside its codecs
// without a server.
type viewRow struct {
	Connections int
	Bytes       int64     // of elements
	Seconds     []float64 // of each round
	Worked      []float64 // processor time of the server
	// Codecs are the seconds that it takes to decode all chunks of the source and to
	// encode all of the view in this process, with as many goroutines as there are
	// connections, but at most one for each processor.
	Codecs []float64
	// CodecsWorked is the processor time of that.
	CodecsWorked []float64
}

// viewPaths returns the addresses of the chunks of the view in C order.
func viewPaths(below string) []string {
	return somePaths(below, (viewDays()+int(viewShape[0])-1)/int(viewShape[0]))
}

// somePaths returns those of the first n along time.
func somePaths(below string, n int) (paths []string) {
	for i := range n {
		for j := range 2 {
			for k := range 2 {
				paths = append(paths, fmt.Sprintf("%sc/%d/%d/%d", below, i, j, k))
			}
		}
	}
	return paths
}

func viewDays() (days int) {
	for _, n := range months {
		days += int(n)
	}
	return days
}

// viewAddress is below which varve serves the view.
func viewAddress() string { return "/@regular/" + node + "/" + monthly + "/" }

// view measures the view, with the codecs and the server in turns. The server is a new
// process each time, so it has kept nothing.
func (b *bench) view(ctx context.Context) error {
	c, err := newCodecs(ctx, filepath.Join(b.dir, node, monthly))
	if err != nil {
		return err
	}
	for _, connections := range []int{1, 2, 8} {
		row := &viewRow{Connections: connections, Bytes: int64(viewDays()) * 180 * 360 * 4}
		for round := range b.rounds + 1 { // the first one does not count
			var server, codecs, serverWorked, codecsWorked float64
			for k := range 2 {
				if (k+round)%2 == 0 {
					server, serverWorked, err = b.readView(ctx, connections)
				} else {
					t := protocol.Start()
					codecs, err = c.run(min(connections, runtime.GOMAXPROCS(0)))
					_, codecsWorked = t.Stop()
				}
				if err != nil {
					return err
				}
			}
			if round > 0 {
				row.Seconds, row.Worked = append(row.Seconds, server), append(row.Worked, serverWorked)
				row.Codecs, row.CodecsWorked = append(row.Codecs, codecs), append(row.CodecsWorked, codecsWorked)
			}
		}
		b.report.View = append(b.report.View, row)
	}
	return nil
}

// readView reads the view from a new server, which has answered with its document before.
func (b *bench) readView(ctx context.Context, connections int) (seconds, worked float64, err error) {
	s, err := b.startVarve(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer s.stop()
	if _, _, _, err := all(ctx, s.address, 1, []string{viewAddress() + "zarr.json"}); err != nil {
		return 0, 0, err
	}
	before := s.worked()
	seconds, _, _, err = all(ctx, s.address, connections, viewPaths(viewAddress()))
	return seconds, s.worked() - before, err
}

// codecs has the work of the codecs: the files of the source, and the elements of each
// chunk of the view.
type codecs struct {
	files  []string
	chunks [][]byte
}

func newCodecs(ctx context.Context, at string) (*codecs, error) {
	a, err := zarr.OpenArray(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	c := new(codecs)
	for i := range months {
		for j := range 2 {
			for k := range 2 {
				c.files = append(c.files, filepath.Join(at, "c", fmt.Sprint(i), fmt.Sprint(j), fmt.Sprint(k)))
			}
		}
	}
	values, err := zarr.Read[float32](ctx, a, nil)
	if err != nil {
		return nil, err
	}
	for first := 0; first < viewDays(); first += int(viewShape[0]) {
		for j := range 2 {
			for k := range 2 {
				data := make([]byte, 0, viewShape[0]*viewShape[1]*viewShape[2]*4)
				for day := first; day < min(first+int(viewShape[0]), viewDays()); day++ {
					for y := range 90 {
						at := (day*180+90*j+y)*360 + 180*k
						for _, v := range values.Data[at : at+180] {
							data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
						}
					}
				}
				c.chunks = append(c.chunks, data[:cap(data)])
			}
		}
	}
	return c, nil
}

// run decodes and encodes everything, and returns the seconds that takes.
func (c *codecs) run(workers int) (float64, error) {
	var next atomic.Int64
	var g sync.WaitGroup
	errs := make([]error, workers)
	begun := time.Now()
	for w := range workers {
		g.Go(func() {
			decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
			if err != nil {
				errs[w] = err
				return
			}
			defer decoder.Close()
			encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
			if err != nil {
				errs[w] = err
				return
			}
			defer encoder.Close()
			var decoded, encoded []byte
			for k := next.Add(1) - 1; k < int64(max(len(c.files), len(c.chunks))); k = next.Add(1) - 1 {
				if k < int64(len(c.files)) {
					data, err := os.ReadFile(c.files[k])
					if err == nil {
						decoded, err = decoder.DecodeAll(data, decoded[:0])
					}
					if err != nil {
						errs[w] = err
						return
					}
				}
				if k < int64(len(c.chunks)) {
					encoded = encoder.EncodeAll(c.chunks[k], encoded[:0])
				}
			}
		})
	}
	g.Wait()
	return time.Since(begun).Seconds(), errors.Join(errs...)
}

// peerRow is how long one server takes for the first chunks of a view.
type peerRow struct {
	Shape   string
	Chunks  int
	Server  string
	Seconds []float64
	Worked  []float64
}

// peerConnections is the number of connections that ask for a view of several servers.
const peerConnections = 8

// peers measures views beside other servers, in turns. Each is a new process each time,
// and has answered with one chunk before.
func (b *bench) peers(ctx context.Context) error {
	for _, v := range []struct {
		shape string
		n     int // chunks along time
	}{{"31x90x180", 12}, {"4x90x180", 20}, {"1x90x180", 60}} {
		rows := []*peerRow{{Shape: v.shape, Server: "varve serve"}}
		begin := []func() (*server, error){func() (*server, error) {
			s, err := b.startVarve(ctx)
			if err == nil {
				s.path = fmt.Sprintf("/@regular,chunks=%s/%s/%s/", v.shape, node, monthly)
			}
			return s, err
		}}
		if _, err := os.Stat(b.python); err == nil {
			for _, p := range [][2]string{{"zarr", "zarr-python behind starlette"}, {"xpublish", "xpublish with its plugin"}} {
				rows = append(rows, &peerRow{Shape: v.shape, Server: p[1]})
				begin = append(begin, func() (*server, error) {
					return start(ctx, b.python, "peer.py", p[0], filepath.Join(b.dir, node, monthly), v.shape)
				})
			}
		} else if len(b.report.Peers) == 0 {
			b.report.Missing = append(b.report.Missing, "the servers in Python")
		}
		for round := range b.rounds {
			for k := range rows {
				at := (k + round) % len(rows)
				if err := rows[at].measure(ctx, begin[at], v.n); err != nil {
					return fmt.Errorf("%s: %w", rows[at].Server, err)
				}
			}
		}
		b.report.Peers = append(b.report.Peers, rows...)
	}
	return nil
}

// measure asks a new server for the first n chunks along time. The chunk after them, for
// which it is asked before, makes it open the array.
func (r *peerRow) measure(ctx context.Context, begin func() (*server, error), n int) error {
	s, err := begin()
	if err != nil {
		return err
	}
	defer s.stop()
	paths := somePaths(s.path, n+1)
	r.Chunks = len(paths) - 4
	if _, _, _, err := all(ctx, s.address, 1, paths[len(paths)-1:]); err != nil {
		return err
	}
	before := s.worked()
	seconds, _, _, err := all(ctx, s.address, peerConnections, paths[:r.Chunks])
	r.Seconds, r.Worked = append(r.Seconds, seconds), append(r.Worked, s.worked()-before)
	return err
}

// tileRow has the seconds of requests for tiles of 256² pixels.
type tileRow struct {
	What        string
	Connections int
	P50, P99    float64
}

// tiles measures tiles that were asked for before.
func (b *bench) tiles(ctx context.Context) error {
	s, err := b.startVarve(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, what := range []struct {
		name string
		path func(i, j int) string
	}{
		{"a chunk of a view", func(i, j int) string {
			return fmt.Sprintf("/@regular,chunks=256x256/%s/%s/c/%d/%d", node, wide, i, j)
		}},
		{"a picture of values", func(i, j int) string {
			return fmt.Sprintf("/@values/%s/%s?format=png&range=900,3100&select=%d:%d,%d:%d", node, wide, 256*i, 256*(i+1), 256*j, 256*(j+1))
		}},
	} {
		var paths []string
		for i := range 8 {
			for j := range 8 {
				paths = append(paths, what.path(i, j))
			}
		}
		if _, _, _, err := all(ctx, s.address, 1, paths); err != nil {
			return err
		}
		for _, connections := range []int{1, 8} {
			_, _, each, err := all(ctx, s.address, connections, slices.Repeat(paths, 8))
			if err != nil {
				return err
			}
			slices.Sort(each)
			b.report.Tiles = append(b.report.Tiles, &tileRow{what.name, connections, each[len(each)/2], each[len(each)*99/100]})
		}
	}
	return nil
}
