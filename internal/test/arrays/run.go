// SPDX-License-Identifier: Apache-2.0

// Package arrays is a test suite of arrays on an object store. It tests what the suite of
// drivers, package store/storetest, cannot: that the protocols of package zarr and of
// package rechunk hold on a real service.
package arrays

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/crash"
	"varve.dev/zarr/internal/test/fence"
	"varve.dev/zarr/internal/test/fixture"
	rechunktest "varve.dev/zarr/internal/test/rechunk"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// Run runs the suite. open returns the store below a prefix; Run passes each prefix once,
// from several goroutines. Concurrent programs append, resize, write at borders and
// change groups in random orders, with faults; changes of arrays, shards, streams and
// rechunks are interrupted at some operations, or at all of them with VARVE_LONG=1.
func Run(t *testing.T, open func(prefix string) stepping.ObjectStore) {
	var n atomic.Int64
	next := func() stepping.ObjectStore { return open(fmt.Sprintf("%d.zarr", n.Add(1))) }
	step, times := 16, 1
	if fixture.Long() {
		step, times = 8, 20
	}
	t.Run("fence", func(t *testing.T) { fence.Run(t, next, 2*times) })
	t.Run("crash", func(t *testing.T) { t.Logf("%d interruptions", crash.Run(t, next, int64(step))) })
	t.Run("rechunk", func(t *testing.T) {
		stops, orders := rechunktest.Run(t, next, step, times)
		t.Logf("%d stops, %d orders", stops, orders)
		if orders == 0 {
			t.Error("no order was played to its end")
		}
	})
}

// A program of a crowd has one role. Each is a process of its own.
const (
	appends  = "append"  // appends batches to an array
	streams  = "stream"  // appends rows to an array as they arrive
	writes   = "write"   // writes numbers from 1 on to a row of its own
	rechunks = "rechunk" // gives an array other chunks, again and again
	packs    = "re-pack" // gives an array other shards, or none, again and again
	reads    = "read"    // reads all of an array until it is killed
	joins    = "join"    // appends batches to all arrays of a group at once
	looks    = "look"    // reads all arrays of a group until it is killed
)

// role is the role of one process, as its environment has it.
type role struct {
	kind     string
	number   int // of the program among those of its kind
	times    int
	location string
}

const (
	roleName     = "VARVE_TEST_ROLE" // kind, number and times
	locationName = "VARVE_TEST_LOCATION"
)

// Main runs the role of this process, if it has one. It returns false if it has none. A
// test that calls [Crowd] calls it first in TestMain.
func Main() bool {
	var r role
	if _, err := fmt.Sscan(os.Getenv(roleName), &r.kind, &r.number, &r.times); err != nil {
		return false
	}
	r.location = os.Getenv(locationName)
	if r.kind == live {
		_ = (&hand{location: r.location}).serve(context.Background(), os.Stdin) // never fails
		return true
	}
	if err := r.play(context.Background()); err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return true
}

// NoGoroutines runs the tests, and expects no goroutine to be left but those of
// connections, which the proxies of tests keep for a while.
func NoGoroutines(m *testing.M, also ...goleak.Option) {
	goleak.VerifyTestMain(m, append(also,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))...)
}

// actor is a program at work.
type actor interface {
	step(ctx context.Context, k int) error
	io.Closer
}

// play prints "done" with a number after each thing that it has done.
func (r role) play(ctx context.Context) error {
	a, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	for k := 0; k < r.times; k++ {
		if err := a.step(ctx, k); err != nil {
			return fmt.Errorf("%s %d, step %d: %w", r.kind, r.number, k, err)
		}
		fmt.Println("done", k)
	}
	return nil
}

func (r role) enter(ctx context.Context) (actor, error) {
	if r.kind == joins || r.kind == looks {
		return r.openGroup(ctx)
	}
	return r.openArray(ctx)
}

// isReader reports whether the program continues until it is killed.
func (r role) isReader() bool { return r.kind == reads || r.kind == looks }

// live is the kind of the processes of a life. Each is a hand that does what the test
// tells it, one line at a time:
//
//	append ID N           append N rows, of which ID is the first
//	look SEED PART PARTS  choose a box of the columns that are this part of all
//	                      columns, and read it; the answer has its cells and rows
//	store WRITE           write to that box
//	recut SEED TAKEOVER   give the array another grid
//	vacuum                delete grids that were superseded long ago
//	drop START STOP       take rows out
//	insert AT ID N        put rows in
//
// The answer is "ok" and what the hand has found, or "error" and why.
const live = "live"

// lifeGrace is longer than any process of a life is stopped. After a shorter grace, a
// process that continues may write to a key that belongs to another grid by then.
const lifeGrace = 3 * time.Second

// hand is the state of a process of a life.
type hand struct {
	location string
	array    *zarr.Array
	box      selection.Box // that was looked at last
	rows     []int64       // of the box
	cells    [2]int        // of the box, in each row
}

// serve does what the lines say until they end.
func (h *hand) serve(ctx context.Context, in io.Reader) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer, err := h.obey(ctx, lines.Text())
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
			if h.array != nil {
				_ = h.array.Close() // it is opened again
				h.array = nil
			}
		}
		fmt.Println(answer)
	}
	return nil
}

func (h *hand) obey(ctx context.Context, line string) (answer string, err error) {
	if h.array == nil {
		if h.array, err = zarr.OpenArray(ctx, h.location, &zarr.Options{Write: true}); err != nil {
			return "", err
		}
	}
	var what string
	var a, b, c int64
	_, _ = fmt.Sscan(line, &what, &a, &b, &c) // lines have different lengths
	switch what {
	case "append":
		err = zarr.Append(ctx, h.array, 0, h.elements(a, b), &zarr.AppendOptions{RoundUp: true})
	case "look":
		return h.look(ctx, rand.New(rand.NewPCG(uint64(a), 0)), b, c)
	case "store":
		err = h.store(ctx, a)
	case "recut":
		err = h.recut(ctx, rand.New(rand.NewPCG(uint64(a), 0)), b == 1)
	case "vacuum":
		_, err = rechunk.Vacuum(ctx, h.array, &rechunk.VacuumOptions{Grace: lifeGrace})
	case "drop":
		err = h.move(ctx, rechunk.Removal{Range: grid.Interval{Start: a, Stop: b}, Unlock: true})
	case "insert":
		data := h.elements(b, c)
		err = h.move(ctx, rechunk.Insertion{At: a, From: source(h.shapeOf(c), data), Identity: fmt.Sprint(b), Unlock: true})
	default:
		err = errors.New("wrong: no such order: " + line)
	}
	return "ok", err
}

// shapeOf returns the shape of n rows.
func (h *hand) shapeOf(n int64) []int64 {
	shape := h.array.Shape()
	shape[0] = n
	return shape
}

// elements returns the first elements of n rows.
func (h *hand) elements(first, n int64) []int64 {
	var data []int64
	for i := range n {
		for c := range widthOf(h.array.Shape()) {
			data = append(data, element(first+i, c, 0))
		}
	}
	return data
}

// widthOf returns the number of cells of a row.
func widthOf(shape []int64) int {
	n := int64(1)
	for _, k := range shape[1:] {
		n *= k
	}
	return int(n)
}

// source returns a source of elements.
func source(shape []int64, data []int64) *zarr.Source {
	return &zarr.Source{Shape: shape, Read: func(_ context.Context, box grid.Box, dst []byte) error {
		width := int64(widthOf(shape))
		for i, n := range boxOffsets(shape, box, width) {
			binary.NativeEndian.PutUint64(dst[8*i:], uint64(data[n]))
		}
		return nil
	}}
}

// boxOffsets returns the places of the elements of a box in an array of rows.
func boxOffsets(shape []int64, box grid.Box, width int64) []int64 {
	offsets := []int64{}
	for row := box[0].Start; row < box[0].Stop; row++ {
		offsets = append(offsets, row*width)
	}
	for axis, below := 1, width; axis < len(shape); axis++ {
		below /= shape[axis]
		var next []int64
		for _, at := range offsets {
			for k := box[axis].Start; k < box[axis].Stop; k++ {
				next = append(next, at+k*below)
			}
		}
		offsets = next
	}
	return offsets
}

// look reads a box of some rows. All axes but the first two are whole.
func (h *hand) look(ctx context.Context, r *rand.Rand, part, parts int64) (string, error) {
	if r.IntN(2) == 0 {
		if err := h.array.Refresh(ctx); err != nil {
			return "", err
		}
	}
	shape := h.array.Shape()
	h.box = selection.Box{}
	for _, n := range shape {
		h.box = append(h.box, [2]int64{0, n})
	}
	h.box[0][0] = r.Int64N(shape[0])
	h.box[0][1] = min(shape[0], h.box[0][0]+1+r.Int64N(6))
	depth := 1
	if len(shape) > 1 {
		start, stop := part*shape[1]/parts, (part+1)*shape[1]/parts
		h.box[1][0] = start + r.Int64N(stop-start)
		h.box[1][1] = h.box[1][0] + 1 + r.Int64N(stop-h.box[1][0])
		depth = widthOf(shape) / int(shape[1])
		h.cells = [2]int{int(h.box[1][0]) * depth, int(h.box[1][1]) * depth}
	} else {
		h.cells = [2]int{0, 1}
	}
	b, err := zarr.Read[int64](ctx, h.array, h.box)
	if err != nil {
		return "", err
	}
	if h.rows, err = rowsIn(b.Data, h.cells); err != nil {
		return "", err
	}
	return strings.Trim(fmt.Sprint("ok ", h.cells[0], " ", h.cells[1], " ", h.rows), "[]"), nil
}

// rowsIn returns the rows of the elements of some cells, and checks that they are whole.
func rowsIn(data []int64, cells [2]int) (rows []int64, err error) {
	for i, v := range data {
		row, cell, _ := parse(v)
		n := i % (cells[1] - cells[0])
		if n == 0 {
			rows = append(rows, row)
		}
		if row == 0 || row != rows[len(rows)-1] || cell != cells[0]+n {
			return nil, fmt.Errorf("wrong: cell %d of row %d is found where cell %d of row %d is expected", cell, row, cells[0]+n, rows[len(rows)-1])
		}
	}
	return rows, nil
}

// store writes to the box that was looked at, in whichever place its rows are now.
func (h *hand) store(ctx context.Context, write int64) error {
	var data []int64
	for _, row := range h.rows {
		for c := h.cells[0]; c < h.cells[1]; c++ {
			data = append(data, element(row, c, write))
		}
	}
	return zarr.Write(ctx, h.array, h.box, data)
}

// recut rechunks the array. takeOver says that a process which was killed may have left
// a claim.
func (h *hand) recut(ctx context.Context, r *rand.Rand, takeOver bool) error {
	if err := h.array.Refresh(ctx); err != nil {
		return err
	}
	return beaten(h.do(ctx, lifeRequest(r, h.array), takeOver))
}

// do rechunks the array, after it has removed a claim that another request has left.
func (h *hand) do(ctx context.Context, request rechunk.Request, takeOver bool) error {
	opt := &rechunk.Options{TakeOver: takeOver}
	_, err := rechunk.Do(ctx, h.array, request, opt)
	if errors.Is(err, rechunk.ErrClaimed) {
		if err = rechunk.Abandon(ctx, h.array, opt); err == nil {
			_, err = rechunk.Do(ctx, h.array, request, opt)
		}
	}
	if errors.Is(err, rechunk.ErrNoKeys) {
		_, err = rechunk.Vacuum(ctx, h.array, &rechunk.VacuumOptions{Grace: lifeGrace})
	}
	return err
}

// move takes rows out or puts rows in. No other process moves rows.
func (h *hand) move(ctx context.Context, request rechunk.Request) error {
	if err := h.array.Refresh(ctx); err != nil {
		return err
	}
	opt := &rechunk.Options{TakeOver: true}
	_, err := rechunk.Do(ctx, h.array, request, opt)
	if errors.Is(err, rechunk.ErrClaimed) {
		if err = rechunk.Abandon(ctx, h.array, opt); err == nil {
			_, err = rechunk.Do(ctx, h.array, request, opt)
		}
	}
	return err
}

// lifeRequest returns a request for another grid, or for other shards.
func lifeRequest(r *rand.Rand, a *zarr.Array) rechunk.Request {
	var inner, outer rechunk.Cuts
	for axis, n := range a.Shape() {
		c := 1 + r.Int64N(4)
		if axis > 0 {
			c = 1 + r.Int64N(n)
		}
		inner, outer = append(inner, grid.Every(c)), append(outer, grid.Every(c*(1+r.Int64N(3))))
	}
	switch k := r.IntN(8); {
	case k < 2 && a.Spec().Format != 2:
		return rechunk.Rechunking{Chunks: outer, Inner: inner, IndexAtStart: k == 1}
	case k < 4 && !a.Grid().Axis(0).IsRegular():
		return rechunk.Compaction{UpTo: 2 + r.Int64N(12)}
	case k < 5 && a.Spec().InnerChunks == nil:
		return rechunk.Regularization{}
	}
	return rechunk.Rechunking{Chunks: inner, Unpack: true}
}

// Scene is what the programs of a crowd share.
type Scene struct {
	name   string
	create func(ctx context.Context, location string) error
	cast   []part
	// final lets one more program change what is there, and returns what it finds then.
	final func(ctx context.Context, location string) (*found, error)
}

// part is some programs of one kind, of which the first ones are killed.
type part struct {
	kind     string
	programs int
	killed   int
	steps    int // of a program that ends by itself, in a short run
}

var (
	// Edges is an array whose chunks have listed edges.
	Edges = &Scene{"edges", rowsOf(listedRows), rowCast, finalRows}
	// Regular is an array whose chunks have one length.
	Regular = &Scene{"regular", rowsOf(regularRows), rowCast, finalRows}
	// Shards is an array of shards of one length. Programs append to its last shard and
	// write to it, and others unpack it and pack it.
	Shards = &Scene{"shards", rowsOf(regularShards), shardCast, finalRows}
	// ShardEdges is the same with listed edges.
	ShardEdges = &Scene{"shard-edges", rowsOf(listedShards), shardCast, finalRows}
	// Group is a group of three arrays that share the axis of time. It has consolidated
	// metadata.
	Group = &Scene{"group", createGroup, groupCast, finalGroup}
)

var rowCast = []part{
	{appends, 8, 3, 3}, {writes, 4, 1, 6}, {rechunks, 2, 1, 3}, {reads, 2, 0, 0},
}

var shardCast = []part{
	{appends, 5, 2, 3}, {streams, 3, 1, 3}, {writes, 4, 1, 6}, {packs, 2, 1, 3}, {reads, 2, 0, 0},
}

// Fewer programs, because each append to a group waits for all others.
var groupCast = []part{{joins, 5, 2, 2}, {looks, 3, 0, 0}}

// Every element of a life says where it belongs: to which row, to which cell of the row,
// and to which write of that cell. The first write is the append or insertion, number 0.
const (
	writeBits = 20
	cellBits  = 8
)

func element(row int64, cell int, write int64) int64 {
	return row<<(cellBits+writeBits) | int64(cell)<<writeBits | write
}

// parse is the inverse of [element].
func parse(v int64) (row int64, cell int, write int64) {
	return v >> (cellBits + writeBits), int(v >> writeBits & (1<<cellBits - 1)), v & (1<<writeBits - 1)
}

// presence says what is known of a row.
type presence int

const (
	uncertain presence = iota // an append or insertion was begun, and not acknowledged
	present                   // it was acknowledged
	leaving                   // a drop was begun
	dropped                   // the drop was acknowledged
)

// entry is what is known of a row: its presence, and for every cell the last write that
// was begun and the last one that was acknowledged.
type entry struct {
	presence
	begun, acknowledged []int64
}

// ledger knows what the programs of a life have begun, and what was acknowledged.
type ledger struct {
	width int // cells of a row

	mu     sync.Mutex
	rows   map[int64]*entry
	writes int64
}

func newLedger(width int) *ledger { return &ledger{width: width, rows: map[int64]*entry{}} }

// add notes that n new rows are to be stored, and returns the first of them.
func (l *ledger) add(n int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := int64(len(l.rows)) + 1 // 0 would be the fill value
	for i := range n {
		l.rows[first+int64(i)] = &entry{begun: make([]int64, l.width), acknowledged: make([]int64, l.width)}
	}
	return first
}

// set notes what is known of rows.
func (l *ledger) set(p presence, rows ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range rows {
		l.rows[id].presence = p
	}
}

// begin notes that cells of rows are to be written, and returns the number of the write.
func (l *ledger) begin(rows []int64, from, to int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	for _, id := range rows {
		for c := from; c < to; c++ {
			l.rows[id].begun[c] = l.writes
		}
	}
	return l.writes
}

// end notes that a write was acknowledged.
func (l *ledger) end(write int64, rows []int64, from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range rows {
		for c := from; c < to; c++ {
			l.rows[id].acknowledged[c] = write
		}
	}
}

// moment returns a copy of what is known now. A reader that begins later finds no less.
func (l *ledger) moment() map[int64]entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := make(map[int64]entry, len(l.rows))
	for id, e := range l.rows {
		m[id] = entry{presence: e.presence, acknowledged: append([]int64(nil), e.acknowledged...)}
	}
	return m
}

// check compares elements, of whole rows, with what was known when their reader began:
// each row is there once, has its own cells, and no cell is older. all says that the
// elements are those of the whole array, which then has every acknowledged row.
func (l *ledger) check(data []int64, known map[int64]entry, all bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[int64]bool{}
	for at := 0; at < len(data); at += l.width {
		id, err := l.row(data[at:at+l.width], known)
		if err == nil && seen[id] {
			err = fmt.Errorf("wrong: row %d is there twice", id)
		}
		if err != nil {
			return fmt.Errorf("place %d of %d: %w", at/l.width, len(data)/l.width, err)
		}
		seen[id] = true
	}
	for id, e := range known {
		switch {
		case all && e.presence == present && l.rows[id].presence == present && !seen[id]:
			return fmt.Errorf("wrong: row %d was acknowledged, and is not there", id)
		case e.presence == dropped && seen[id]:
			return fmt.Errorf("wrong: row %d was dropped, and is there", id)
		}
	}
	return nil
}

// row checks the elements of one row, and returns which row it is.
func (l *ledger) row(data []int64, known map[int64]entry) (int64, error) {
	id, _, _ := parse(data[0])
	e := l.rows[id]
	if e == nil {
		return 0, fmt.Errorf("wrong: %d is no element of any row", data[0])
	}
	for c, v := range data {
		row, cell, write := parse(v)
		if row != id || cell != c {
			return id, fmt.Errorf("wrong: cell %d of row %d has the element of cell %d of row %d", c, id, cell, row)
		}
		oldest := int64(0)
		if k, ok := known[id]; ok {
			oldest = k.acknowledged[c]
		}
		if write < oldest || write > e.begun[c] {
			return id, fmt.Errorf("wrong: cell %d of row %d is of write %d; write %d was acknowledged, and write %d begun last", c, id, write, oldest, e.begun[c])
		}
	}
	return id, nil
}

// settle decides what became of the rows of a move that was not acknowledged: with all of
// them there, or none. there has the rows of the array now.
func (l *ledger) settle(rows []int64, there map[int64]bool, drop bool) error {
	n := 0
	for _, id := range rows {
		if there[id] {
			n++
		}
	}
	switch {
	case n == len(rows):
		l.set(present, rows...)
	case n == 0:
		l.set(dropped, rows...)
	default:
		return fmt.Errorf("wrong: %d rows of a move of %d are there (a drop: %t)", n, len(rows), drop)
	}
	return nil
}

// idsOf returns the rows of the elements of a whole array, in order.
func (l *ledger) idsOf(data []int64) ([]int64, map[int64]bool, error) {
	if len(data)%l.width != 0 {
		return nil, nil, errors.New("wrong: not a whole number of rows")
	}
	var ids []int64
	set := map[int64]bool{}
	for at := 0; at < len(data); at += l.width {
		id, _, _ := parse(data[at])
		ids = append(ids, id)
		set[id] = true
	}
	return ids, set, nil
}

// counts returns how many rows are in each presence.
func (l *ledger) counts() map[presence]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[presence]int{}
	for e := range maps.Values(l.rows) {
		n[e.presence]++
	}
	return n
}
