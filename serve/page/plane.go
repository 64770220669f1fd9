// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/selection"
)

// pixels are a part of a plane of an array, as numbers.
type pixels struct {
	Height   int64     `json:"height"`
	Width    int64     `json:"width"`
	Box      [4]int64  `json:"box"`  // y0, y1, x0, x1: elements of the array that was asked for
	Step     [2]int64  `json:"step"` // elements for each pixel
	Method   string    `json:"method"`
	Level    string    `json:"level"`
	Exact    bool      `json:"exact"` // each pixel is the element at its place
	Min      *float64  `json:"min"`
	Max      *float64  `json:"max"`
	Units    int       `json:"chunks"` // that were looked at, of chunks or inner chunks
	Requests int64     `json:"requests"`
	Bytes    int64     `json:"bytes"`
	Decoded  int64     `json:"decoded"` // bytes
	Problems []problem `json:"problems"`
	Version  string    `json:"version"`

	numbers []float32
	states  []byte
	release func()
}

func (p *pixels) tag() string { return p.Version }

// mostProblems bounds the problems that one answer names.
const mostProblems = 20

// write answers with the header, the numbers and the states.
func (p *pixels) write(w http.ResponseWriter) {
	defer p.release()
	header, _ := json.Marshal(p) // it has only text and numbers
	body := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(header)), uint32(len(header)))
	body = append(body, header...)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+5*len(p.states)))
	_, err := w.Write(body)
	for numbers := p.numbers; len(numbers) > 0 && err == nil; {
		n := min(len(numbers), 1<<14)
		body = body[:0]
		for _, x := range numbers[:n] {
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(x))
		}
		numbers = numbers[n:]
		_, err = w.Write(body)
	}
	if err == nil {
		_, _ = w.Write(p.states) // the client may have gone
	}
}

// run is the part of an axis of a plane that lies in one unit.
type run struct {
	cell   grid.Cell
	from   int     // the first pixel
	within []int64 // for each pixel, its element in the unit
}

// runsOf returns the runs of pixels that lie step elements apart.
func runsOf(axis grid.Axis, from, step, pixels int64) (runs []run) {
	var last grid.Cell
	for r := range pixels {
		at := from + r*step
		if len(runs) == 0 || at >= last.Start+last.Logical {
			k, _, _ := axis.Locate(at)
			last, _ = axis.Cell(k)
			runs = append(runs, run{cell: last, from: int(r)})
		}
		now := &runs[len(runs)-1]
		now.within = append(now.within, at-last.Start)
	}
	return runs
}

// thinned keeps one of k runs. Its unit stands for those of the others: each pixel takes
// the element at the same part of the way through the unit.
func thinned(runs []run, k int) (kept []run) {
	for len(runs) > 0 {
		group := runs[:min(k, len(runs))]
		runs = runs[len(group):]
		middle := group[len(group)/2]
		one := run{cell: middle.cell, from: group[0].from}
		for _, r := range group {
			for _, at := range r.within {
				if r.cell.Logical != middle.cell.Logical {
					part, _ := checked.Mul(at, middle.cell.Logical)
					at = min(part/r.cell.Logical, middle.cell.Logical-1)
				}
				one.within = append(one.within, at)
			}
		}
		kept = append(kept, one)
	}
	return kept
}

// thin returns how many units along each axis one has to stand for, so that at most most
// are read.
func thin(ny, nx int, most int64) (ky, kx int) {
	ky, kx = 1, 1
	count := func(n, k int) int64 { return int64((n + k - 1) / k) }
	for count(ny, ky)*count(nx, kx) > max(1, most) {
		if count(ny, ky) >= count(nx, kx) {
			ky++
		} else {
			kx++
		}
	}
	return ky, kx
}

// view is what a plane shows.
type view struct {
	y, x   int
	at     []int64 // along the other axes
	box    [2]grid.Interval
	pixels [2]int64
	step   [2]int64
}

// viewOf checks the parameters of a plane.
func viewOf(q *query, shape []int64) (v *view, err error) {
	rank := len(shape)
	v = &view{y: q.y, x: q.x, at: make([]int64, rank)}
	if rank < 2 {
		return nil, refuse(http.StatusBadRequest, "an array of rank %d has no plane: ask for its values or a series", rank)
	}
	if v.y < 0 && v.x < 0 {
		v.y, v.x = rank-2, rank-1
	}
	if v.y < 0 || v.x < 0 || v.y >= rank || v.x >= rank || v.y == v.x {
		return nil, refuse(http.StatusBadRequest, "y= and x= are two different axes of %d", rank)
	}
	if q.at != nil && len(q.at) != rank {
		return nil, refuse(http.StatusBadRequest, "at= has one index for each axis, with - for those of the plane")
	}
	for i, n := range shape {
		if q.at != nil && i != v.y && i != v.x {
			v.at[i] = max(0, q.at[i])
		}
		if i != v.y && i != v.x && v.at[i] >= n && n > 0 {
			return nil, refuse(http.StatusBadRequest, "at= has index %d along axis %d, whose length is %d", v.at[i], i, n)
		}
	}
	if q.box != nil && len(q.box) != 2 {
		return nil, refuse(http.StatusBadRequest, "box= has two sides, such as 0:721,0:1440")
	}
	for k, axis := range []int{v.y, v.x} {
		v.box[k] = grid.Interval{Stop: shape[axis]}
		if q.box != nil {
			v.box[k] = grid.Interval{Start: min(q.box[k].Start, shape[axis]), Stop: min(q.box[k].Stop, shape[axis])}
		}
		most := [2]int64{q.height, q.width}[k]
		v.step[k] = max(1, checked.CeilDiv(v.box[k].Len(), most))
		v.pixels[k] = checked.CeilDiv(v.box[k].Len(), v.step[k])
	}
	if slices.Contains(shape, 0) {
		v.pixels = [2]int64{}
	}
	return v, nil
}

// plane answers with a part of a plane.
func (h *Handler) plane(ctx context.Context, q *query) (any, error) {
	a, err := h.openArray(ctx, q.node)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	v, err := viewOf(q, a.Shape())
	if err != nil {
		return nil, err
	}
	p := &pixels{Box: [4]int64{v.box[0].Start, v.box[0].Stop, v.box[1].Start, v.box[1].Stop}, Step: v.step, Method: "exact", Version: a.version, Problems: []problem{}}
	source := a
	if v.step != [2]int64{1, 1} {
		p.Method = "every"
		if q.mean {
			p.Method = "mean"
		}
		source, err = h.levelFor(ctx, a, v, p)
		if err != nil {
			return nil, err
		}
		defer source.Close()
	}
	p.Height, p.Width = v.pixels[0], v.pixels[1]
	scale, err := source.scaleOf(ctx, q)
	if err != nil {
		return nil, err
	}
	held, err := h.work.Acquire(ctx, v.pixels[0]*v.pixels[1]*8)
	if err != nil {
		return nil, err
	}
	p.release = func() { h.work.Release(held) }
	p.numbers, p.states = make([]float32, p.Height*p.Width), make([]byte, p.Height*p.Width)
	d := &drawing{array: source, view: v, pixels: p, scale: scale, low: math.Inf(1), high: math.Inf(-1)}
	if err := d.draw(ctx); err != nil {
		p.release()
		return nil, err
	}
	if d.low <= d.high {
		p.Min, p.Max = &d.low, &d.high
	}
	for _, one := range []*array{a, source} {
		s := one.counter.Stats()
		p.Requests, p.Bytes = p.Requests+s.Requests.Times, p.Bytes+s.Read.Bytes
		if a == source {
			break
		}
	}
	return p, nil
}

// drawing makes the pixels of a plane.
type drawing struct {
	*array
	*view
	*pixels
	*scale
	mu        sync.Mutex
	low, high float64
}

// draw reads the units of the plane, and makes their pixels.
func (d *drawing) draw(ctx context.Context) error {
	d.Exact = d.Method == "exact" || d.Method == "every"
	if d.Height*d.Width == 0 {
		return nil
	}
	if d.Method == "mean" {
		return d.drawMean(ctx)
	}
	rows := runsOf(d.units.Axis(d.y), d.box[0].Start, d.step[0], d.Height)
	columns := runsOf(d.units.Axis(d.x), d.box[1].Start, d.step[1], d.Width)
	return d.drawRuns(ctx, rows, columns, d.put)
}

// drawRuns reads the units of rows and columns within the limits.
func (d *drawing) drawRuns(ctx context.Context, rows, columns []run, put func(b *block)) error {
	longest := int64(d.state.Type.Size())
	for i := range d.at {
		longest = checked.Capped(longest, max(1, d.units.Axis(i).Longest(grid.Interval{Stop: d.units.Axis(i).Cells()})))
	}
	most := int64(mostUnits)
	if d.Method != "exact" {
		most = min(most, max(1, 4*d.h.Memory/max(1, longest)))
	}
	if ky, kx := thin(len(rows), len(columns), most); ky > 1 || kx > 1 {
		if d.Method != "mean" && d.summarize(ctx, rows, columns) {
			return ctx.Err()
		}
		rows, columns, d.Exact = thinned(rows, ky), thinned(columns, kx), false
		if d.Method == "exact" {
			d.Method = "every"
		}
	}
	limited, cancel := context.WithTimeout(ctx, mostReading)
	defer cancel()
	group, within := parallel.New(limited)
	group.SetLimit(engine.InFlight(d.Location().Store(), 0, 2))
	for i := range rows {
		for k := range columns {
			group.Go(func() error {
				d.readRuns(within, &rows[i], &columns[k], put)
				return nil
			})
		}
	}
	if err := group.Wait(nil); err != nil {
		return err
	}
	return ctx.Err()
}

// summarize makes the pixels of what is kept about the units: the middle of their ranges.
// It returns false if nothing is kept.
func (d *drawing) summarize(ctx context.Context, rows, columns []run) bool {
	if d.packing == nil {
		return false
	}
	entries := d.entries(ctx)
	l, err := d.list(ctx, listingTime)
	if entries == nil || err != nil || l == nil {
		return false
	}
	unit, stored := make([]int64, len(d.at)), map[[2]int64]bool{}
	chunk := make([]int64, len(d.at))
	for i, at := range d.at {
		unit[i], _, _ = d.units.Axis(i).Locate(at)
		chunk[i], _, _ = d.state.Grid.Axis(i).Locate(at)
	}
	for i := range l.infos {
		index, other := l.index[i*len(d.at):][:len(d.at)], false
		for axis, k := range index {
			other = other || axis != d.y && axis != d.x && k != chunk[axis]
		}
		if !other {
			stored[[2]int64{index[d.y], index[d.x]}] = true
		}
	}
	d.Method, d.Exact = "statistics", false
	fill, _ := d.fillNumber()
	for i := range rows {
		unit[d.y] = rows[i].cell.Index
		chunk[d.y], _, _ = d.state.Grid.Axis(d.y).Locate(rows[i].cell.Start)
		for k := range columns {
			unit[d.x] = columns[k].cell.Index
			chunk[d.x], _, _ = d.state.Grid.Axis(d.x).Locate(columns[k].cell.Start)
			number, state := float32(math.NaN()), byte(stateUnknown)
			if s, n, known := entries.Known(unit); known && n > 0 {
				switch {
				case s.Minimum == nil:
					state = stateNaN
				case s.Fill == n:
					number, state = fill, stateFill
				default:
					x := d.packing.Value(s.Minimum)/2 + d.packing.Value(s.Maximum)/2
					number, state = float32(x), stateValue
					d.low, d.high = min(d.low, float64(number)), max(d.high, float64(number))
				}
			} else if !stored[[2]int64{chunk[d.y], chunk[d.x]}] {
				number, state = fill, stateMissing
			}
			for y := range rows[i].within {
				at := (int64(rows[i].from)+int64(y))*d.Width + int64(columns[k].from)
				for x := range columns[k].within {
					d.numbers[at+int64(x)], d.states[at+int64(x)] = number, state
				}
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return true
}

// block is the part of a unit that the pixels of two runs have.
type block struct {
	rows, columns *run
	state         byte
	elems         []byte // one for each pixel, in C order
}

// readRuns reads the unit of two runs.
func (d *drawing) readRuns(ctx context.Context, rows, columns *run, put func(b *block)) {
	b := &block{rows: rows, columns: columns, state: stateUnknown}
	defer func() { put(b) }()
	if ctx.Err() != nil {
		d.unknown()
		return
	}
	box := make(grid.Box, len(d.at))
	for i, at := range d.at {
		var cell grid.Cell
		switch i {
		case d.y:
			cell = rows.cell
		case d.x:
			cell = columns.cell
		default:
			k, _, _ := d.units.Axis(i).Locate(at)
			cell, _ = d.units.Axis(i).Cell(k)
		}
		box[i] = grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
	}
	u, kept := d.unit(ctx, box, func() selection.Selection { return d.selectionOf(rows, columns) })
	if ctx.Err() != nil {
		d.unknown()
		return
	}
	d.mu.Lock()
	if d.Units++; u.state == stateValue {
		d.Decoded += int64(len(u.data))
	}
	if u.state == stateUnreadable {
		if len(d.Problems) < mostProblems {
			d.Problems = append(d.Problems, d.problem(u))
		}
	}
	d.mu.Unlock()
	if b.state = u.state; u.state != stateValue {
		return
	}
	if !kept {
		b.elems = d.transposed(u.data, rows, columns)
		return
	}
	size := int64(d.state.Type.Size())
	base, strides := int64(0), make([]int64, len(box))
	stride := size
	for i := len(box) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= box[i].Len()
		if i != d.y && i != d.x {
			base += (d.at[i] - box[i].Start) * strides[i]
		}
	}
	held := budget.Get(int64(len(rows.within)*len(columns.within)) * size)
	b.elems = held.Bytes(int64(len(rows.within)*len(columns.within)) * size)[:0]
	for _, y := range rows.within {
		row := base + y*strides[d.y]
		for _, x := range columns.within {
			at := row + x*strides[d.x]
			b.elems = append(b.elems, u.data[at:at+size]...)
		}
	}
	put(b)
	held.Put()
	put = func(*block) {}
}

// selectionOf selects the elements of two runs.
func (d *drawing) selectionOf(rows, columns *run) selection.Selection {
	sel := make(selection.Orthogonal, len(d.at))
	for i, at := range d.at {
		sel[i] = selection.At(at)
	}
	list := func(r *run) selection.Item {
		places := make([]int64, len(r.within))
		for i, at := range r.within {
			places[i] = r.cell.Start + at
		}
		return selection.List(places...)
	}
	sel[d.y], sel[d.x] = list(rows), list(columns)
	return sel
}

// transposed returns selected elements with the rows first.
func (d *drawing) transposed(data []byte, rows, columns *run) []byte {
	if d.y < d.x {
		return data
	}
	size, h, w := d.state.Type.Size(), len(rows.within), len(columns.within)
	made := make([]byte, 0, len(data))
	for y := range h {
		for x := range w {
			made = append(made, data[(x*h+y)*size:][:size]...)
		}
	}
	return made
}

// unknown notes that some pixels are not known.
func (d *drawing) unknown() {
	d.mu.Lock()
	d.Exact = false
	d.mu.Unlock()
}

// put makes the pixels of a block.
func (d *drawing) put(b *block) {
	h, w := len(b.rows.within), len(b.columns.within)
	size := d.state.Type.Size()
	low, high := math.Inf(1), math.Inf(-1)
	var fill float32
	var state byte
	if b.state == stateMissing {
		fill, _ = d.fillNumber()
	} else if b.state != stateValue {
		fill = float32(math.NaN())
	}
	state = b.state
	for y := range h {
		at := (int64(b.rows.from)+int64(y))*d.Width + int64(b.columns.from)
		numbers, states := d.numbers[at:at+int64(w)], d.states[at:at+int64(w)]
		if state != stateValue {
			for x := range numbers {
				numbers[x], states[x] = fill, state
			}
			continue
		}
		l, g := d.convert(numbers, states, b.elems[y*w*size:(y+1)*w*size])
		low, high = min(low, l), max(high, g)
	}
	d.mu.Lock()
	d.low, d.high = min(d.low, low), max(d.high, high)
	d.mu.Unlock()
}

// meanMost bounds the elements that are read for means.
const meanMost = 64 << 20

// drawMean makes pixels that are means of blocks of elements.
func (d *drawing) drawMean(ctx context.Context) error {
	height, width := d.box[0].Len(), d.box[1].Len()
	n, ok := checked.Mul(height, width)
	if !ok || n > meanMost || max(height, width) > 1<<20 {
		return refuse(http.StatusRequestEntityTooLarge, "means are made of at most %s: leave out method=mean, or give a smaller box", quantity.Of(meanMost, "element"))
	}
	sums, counts := make([]float64, d.Height*d.Width), make([]int32, d.Height*d.Width)
	for i := range d.states {
		d.states[i] = stateUnknown
		d.numbers[i] = float32(math.NaN())
	}
	rows := runsOf(d.units.Axis(d.y), d.box[0].Start, 1, height)
	columns := runsOf(d.units.Axis(d.x), d.box[1].Start, 1, width)
	var mu sync.Mutex
	err := d.drawRuns(ctx, rows, columns, func(b *block) {
		h, w, size := len(b.rows.within), len(b.columns.within), d.state.Type.Size()
		numbers, states := make([]float32, w), make([]byte, w)
		fill, _ := d.fillNumber()
		mu.Lock()
		defer mu.Unlock()
		for y := range h {
			for x := range states {
				numbers[x], states[x] = fill, b.state
			}
			if b.state == stateValue {
				d.convert(numbers, states, b.elems[y*w*size:(y+1)*w*size])
			}
			row := (int64(b.rows.from) + int64(y)) / d.step[0] * d.Width
			for x := range numbers {
				at := row + (int64(b.columns.from)+int64(x))/d.step[1]
				switch states[x] {
				case stateValue:
					sums[at] += float64(numbers[x])
					counts[at]++
				default:
					d.states[at], d.numbers[at] = states[x], numbers[x]
				}
			}
		}
	})
	for i, n := range counts {
		if n > 0 {
			x := sums[i] / float64(n)
			d.numbers[i], d.states[i] = float32(x), stateValue
			d.low, d.high = min(d.low, float64(d.numbers[i])), max(d.high, float64(d.numbers[i]))
		}
	}
	return err
}
