// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"varve.dev/zarr/bench/protocol"
)

// report is the results.
type report struct {
	Machine string
	Rounds  int
	Missing []string
	Keys    []*keyRow
	View    []*viewRow
	Peers   []*peerRow
	Tiles   []*tileRow
	First   []*firstRow
	Memory  []*memoryRow
}

func (r *report) markdown(w io.Writer) {
	fmt.Fprintf(w, "# Serving\n\n%s %d rounds.\n", r.Machine, r.Rounds)
	if len(r.Missing) > 0 {
		fmt.Fprintf(w, "Not there: %s.\n", strings.Join(r.Missing, ", "))
	}
	fmt.Fprint(w, `
varve serve and other servers answer requests on loopback, each in a process of its own, in turns. The client takes part of the same
processors. Ratios are those of one round: their median, and the lowest and highest of the middle half. All files are in the system's
cache. `+"`make bench-serving`"+` repeats this.
`)
	r.writeKeys(w)
	r.writeView(w)
	r.writeOthers(w)
}

func (r *report) writeKeys(w io.Writer) {
	if len(r.Keys) == 0 {
		return
	}
	fmt.Fprintf(w, `
## Stored keys

%d connections ask for the keys of an array. The ratio is the time of the other server divided by that of varve serve in the same round:
above 1, varve serve is faster. Processor time is that of the server alone, for each request.

| keys of | server | requests/s | MB/s | its time ÷ varve's | processor µs |
|---|---|--:|--:|--:|--:|
`, keyConnections)
	for _, row := range r.Keys {
		for i, x := range row.Results {
			what, s := row.Size, protocol.Median(x.Seconds)
			if i > 0 {
				what = ""
			}
			fmt.Fprintf(w, "| %s | %s | %.0f | %.0f | %s | %.0f |\n", what, x.Server, float64(x.Requests)/s, float64(x.Requests)*float64(row.Bytes)/s/1e6,
				protocol.Ratios(x.Seconds, row.Results[0].Seconds), 1e6*protocol.Median(x.Worked)/float64(x.Requests))
		}
	}
}

func (r *report) writeView(w io.Writer) {
	if len(r.View) > 0 {
		fmt.Fprint(w, `
## A view

An array of float32 with zstd, whose chunks are months of 28 to 31 days, is read as @regular: all chunks in C order, from a new process.
"Codecs" decodes the same chunks of the source and encodes those of the view in one process with buffers that it uses again, without a
store, copies or a server, in as many goroutines as there are connections, but at most one for each processor. The goal is 0.8.

| connections | MB/s of elements | time of codecs ÷ that of the view | of processor time |
|--:|--:|--:|--:|
`)
		for _, row := range r.View {
			fmt.Fprintf(w, "| %d | %.0f | %s | %s |\n", row.Connections, float64(row.Bytes)/protocol.Median(row.Seconds)/1e6,
				protocol.Ratios(row.Codecs, row.Seconds), protocol.Ratios(row.CodecsWorked, row.Worked))
		}
	}
	if len(r.Peers) == 0 {
		return
	}
	fmt.Fprintf(w, `
The first chunks of views of the same array, by %d connections, beside other servers that give the same chunks. The goal is 5 times.

| chunks of the view | server | seconds | its time ÷ varve's | of processor time |
|---|---|--:|--:|--:|
`, peerConnections)
	own := r.Peers[0]
	for _, x := range r.Peers {
		what := ""
		if x.Shape != own.Shape || x == own {
			what, own = fmt.Sprintf("%d of %s", x.Chunks, strings.ReplaceAll(x.Shape, "x", " × ")), x
		}
		fmt.Fprintf(w, "| %s | %s | %.3g | %s | %s |\n", what, x.Server, protocol.Median(x.Seconds), protocol.Ratios(x.Seconds, own.Seconds), protocol.Ratios(x.Worked, own.Worked))
	}
}

func (r *report) writeOthers(w io.Writer) {
	if len(r.Tiles) > 0 {
		fmt.Fprint(w, `
## Tiles

Tiles of 256² uint16 that were asked for before, of an array in chunks of 1024² with zstd. The goal is 5 ms at the median.

| tile | connections | p50, ms | p99, ms |
|---|--:|--:|--:|
`)
		for _, x := range r.Tiles {
			fmt.Fprintf(w, "| %s | %d | %.2f | %.2f |\n", x.What, x.Connections, 1e3*x.P50, 1e3*x.P99)
		}
	}
	if len(r.First) > 0 {
		fmt.Fprint(w, `
## The first byte

From the first request to a new process for a view of an array of 10 GB to the first byte of the answer. The goal is 100 ms.

| request | ms, median | slowest |
|---|--:|--:|
`)
		for _, x := range r.First {
			fmt.Fprintf(w, "| %s | %.2f | %.2f |\n", x.What, 1e3*protocol.Median(x.Seconds), 1e3*slices.Max(x.Seconds))
		}
	}
	if len(r.Memory) > 0 {
		fmt.Fprintf(w, `
## Memory

The most memory of the process while %d connections ask, with the default budget of 256 MiB. The goal is 320 MiB.

| they ask for | MiB |
|---|--:|
`, memoryConnections)
		for _, x := range r.Memory {
			fmt.Fprintf(w, "| %s | %d |\n", x.What, x.Bytes>>20)
		}
	}
}
