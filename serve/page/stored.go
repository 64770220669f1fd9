// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/staging"
	kept "varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/statistics"
	"varve.dev/zarr/store"
)

// storedFacts is what is stored of an array.
type storedFacts struct {
	Bytes    int64 `json:"bytes"`
	Chunks   int64 `json:"chunks"`
	Cells    int64 `json:"cells"` // -1 if they are more than 64 bits count
	Complete bool  `json:"complete"`
}

// statisticsFacts is what is known of the elements.
type statisticsFacts struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Missing  int64   `json:"missing"`
	Complete bool    `json:"complete"`
}

// list is what is stored of an array.
type list struct {
	index    []int64 // of all chunks, one after the other
	infos    []stored
	bytes    int64
	complete bool
	made     time.Time
	entries  *kept.Entries // nil without statistics, or before they were asked for
	asked    bool          // they were
}

// stored is a stored chunk.
type stored struct{ bytes, modified int64 } // modified in seconds since 1970

// lists are the lists of the arrays that were shown last.
type lists struct {
	mu   sync.Mutex
	held map[string]*list
}

const (
	mostLists    = 8
	mostListed   = 1 << 18 // chunks of one array
	listingTime  = 4 * time.Second
	lookTime     = time.Second // for what a description may take
	listedFor    = 2 * time.Second
	mostMeasured = 1 << 25 // bytes of statistics
)

// list lists the stored chunks, for at most some time. It returns nil if the store
// cannot.
func (a *array) list(ctx context.Context, most time.Duration) (*list, error) {
	all, where := &a.h.lists, a.node()+" "+a.version
	all.mu.Lock()
	l := all.held[where]
	all.mu.Unlock()
	if l != nil && time.Since(l.made) < listedFor && (l.complete || most <= lookTime) {
		return l, nil
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	l = &list{complete: true, made: time.Now()}
	chunks := grid.BoxOf(a.state.Grid.Chunks())
	for v, err := range a.state.Engine.Versions(limited) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if limited.Err() != nil || len(l.infos) >= mostListed {
			l.complete = false
			break
		}
		if err != nil {
			if errors.Is(err, zarr.ErrLimit) || errors.Is(err, store.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
				return nil, nil
			}
			return nil, err
		}
		if chunks.Contains(v.Index) {
			l.index = append(l.index, v.Index...)
			l.infos = append(l.infos, stored{v.Info.Size, v.Info.Modified.Unix()})
			l.bytes += v.Info.Size
		}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.held == nil || len(all.held) >= mostLists {
		all.held = map[string]*list{}
	}
	all.held[where] = l
	return l, nil
}

// addHoldings adds what is stored of the array and what is known of it.
func (a *array) addHoldings(ctx context.Context, f *arrayFacts) error {
	l, err := a.list(ctx, lookTime)
	if err != nil || l == nil {
		return err
	}
	cells, ok := a.state.Grid.NumChunks()
	if !ok {
		cells = -1
	}
	f.Stored = &storedFacts{l.bytes, int64(len(l.infos)), cells, l.complete}
	known, err := kept.IsKept(ctx, a.Array)
	if err != nil || !known || !l.complete || !cf.IsNumeric(a.state.Type) {
		return ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	r, err := statistics.Make(limited, a.Array, &statistics.Options{DryRun: true, Memory: a.h.Memory / 8})
	if err != nil || r.Summary.Minimum == nil {
		return ctx.Err() // they are worth no error
	}
	low, high, err := a.ends(ctx, r.Summary.Minimum, r.Summary.Maximum)
	if err == nil {
		f.Statistics = &statisticsFacts{low, high, r.Summary.Missing, r.Known == r.Cells}
	}
	return ctx.Err()
}

// ends returns stored elements as decoded numbers, in their order.
func (a *array) ends(ctx context.Context, low, high []byte) (float64, float64, error) {
	p, err := cf.PackingOf(ctx, a.Array)
	if err != nil {
		return 0, 0, err
	}
	x, y := p.Value(low), p.Value(high)
	if math.IsInf(x-y, 0) || math.IsNaN(x-y) {
		return 0, 0, zarr.ErrUnsupported
	}
	return min(x, y), max(x, y), nil
}

// entries returns the statistics that are kept of the chunks, or nil.
func (a *array) entries(ctx context.Context) *kept.Entries {
	if !cf.IsNumeric(a.state.Type) {
		return nil
	}
	l, err := a.list(ctx, listingTime)
	if err != nil || l == nil || !l.complete {
		return nil
	}
	a.h.lists.mu.Lock()
	asked, entries := l.asked, l.entries
	a.h.lists.mu.Unlock()
	if asked {
		return entries
	}
	if is, err := kept.IsKept(ctx, a.Array); err == nil && is {
		c, err := cf.ComparerOf(ctx, a.Array)
		if err != nil {
			return nil
		}
		listed, err := staging.List(ctx, a.state)
		if err == nil {
			entries, err = kept.Load(ctx, a.Array, a.state, c, listed, mostMeasured)
		}
		if err != nil {
			return nil
		}
	}
	a.h.lists.mu.Lock()
	defer a.h.lists.mu.Unlock()
	l.asked, l.entries = true, entries
	return entries
}

// chunkMap says which cells of a plane of chunks are stored.
type chunkMap struct {
	Y        []int64   `json:"y"` // where cells begin, and the last one ends
	X        []int64   `json:"x"`
	Stored   []float64 `json:"stored"` // the part of the chunks that is stored
	Bytes    []int64   `json:"bytes"`
	Modified []int64   `json:"modified"` // seconds since 1970
	Complete bool      `json:"complete"`
	By       [2]int64  `json:"by"` // chunks that a cell stands for, along each axis
	version  string
}

func (m *chunkMap) tag() string { return m.version }

// Limits of maps of chunks.
const (
	mostCells  = 1 << 16
	mostInner  = 4096
	mostLooked = 4096 // chunks that are asked for one by one
)

// chunks answers which chunks of a plane are stored.
func (h *Handler) chunks(ctx context.Context, q *query) (any, error) {
	a, v, err := h.viewed(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	g := a.state.Grid
	if q.inner && a.units != g {
		g = a.units
	}
	m := &chunkMap{Complete: true, By: [2]int64{1, 1}, version: a.version}
	sides := [2]grid.Interval{{Stop: 1}, {Stop: 1}}
	for k, axis := range []int{v.y, v.x} {
		if axis < 0 {
			continue
		}
		first, _, ok := g.Axis(axis).Locate(v.box[k].Start)
		last, _, _ := g.Axis(axis).Locate(v.box[k].Stop - 1)
		if sides[k] = (grid.Interval{Start: first, Stop: last + 1}); !ok || v.box[k].Len() == 0 {
			sides[k] = grid.Interval{}
		}
	}
	count := func(k int) int64 { return checked.CeilDiv(sides[k].Len(), m.By[k]) }
	for count(0) > mostCells/max(1, count(1)) {
		// Sides may have any number of chunks.
		if count(0) >= count(1) {
			m.By[0] += 1 + m.By[0]/8
		} else {
			m.By[1] += 1 + m.By[1]/8
		}
	}
	m.Y, m.X = borders(g, v.y, sides[0], m.By[0]), borders(g, v.x, sides[1], m.By[1])
	n := count(0) * count(1)
	m.Stored, m.Bytes, m.Modified = make([]float64, n), make([]int64, n), make([]int64, n)
	fixed := make([]int64, len(v.at))
	for i, at := range v.at {
		fixed[i], _, _ = g.Axis(i).Locate(at)
	}
	add := func(index []int64, is stored) {
		for i, k := range index {
			if i != v.y && i != v.x && k != fixed[i] {
				return
			}
		}
		var place [2]int64
		for k, axis := range []int{v.y, v.x} {
			if axis < 0 {
				continue
			}
			if index[axis] < sides[k].Start || index[axis] >= sides[k].Stop {
				return
			}
			place[k] = (index[axis] - sides[k].Start) / m.By[k]
		}
		at := place[0]*count(1) + place[1]
		m.Stored[at]++
		m.Bytes[at] += is.bytes
		m.Modified[at] = max(m.Modified[at], is.modified)
	}
	if g == a.state.Grid {
		err = a.addChunks(ctx, m, v, fixed, sides, add)
	} else {
		err = a.addInner(ctx, m, v, fixed, sides, add)
	}
	for at := range m.Stored {
		y, x := int64(at)/count(1)*m.By[0], int64(at)%count(1)*m.By[1]
		m.Stored[at] /= float64(min(m.By[0], sides[0].Len()-y) * min(m.By[1], sides[1].Len()-x))
	}
	return m, err
}

// viewed opens the array of a question about a plane. One with a single axis has a plane
// with one row.
func (h *Handler) viewed(ctx context.Context, q *query) (*array, *view, error) {
	a, err := h.openArray(ctx, q.node)
	if err != nil {
		return nil, nil, err
	}
	var v *view
	if shape := a.Shape(); len(shape) == 1 {
		v = &view{y: -1, at: []int64{0}, box: [2]grid.Interval{{Stop: 1}, {Stop: shape[0]}}}
		if n := len(q.box); n > 0 {
			v.box[1] = grid.Interval{Start: min(q.box[n-1].Start, shape[0]), Stop: min(q.box[n-1].Stop, shape[0])}
		}
	} else if v, err = viewOf(q, shape); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	return a, v, nil
}

// borders returns where each by-th cell of an axis begins, and the last one ends.
func borders(g *grid.Grid, axis int, side grid.Interval, by int64) []int64 {
	if axis < 0 {
		return []int64{0, 1}
	}
	list, end := []int64{}, int64(0)
	for k := side.Start; k < side.Stop; k += by {
		cell, _ := g.Axis(axis).Cell(k)
		list = append(list, cell.Start)
	}
	if side.Len() > 0 {
		cell, _ := g.Axis(axis).Cell(side.Stop - 1)
		end = cell.Start + cell.Logical
	}
	return append(list, end)
}

// addChunks adds the stored chunks of a map.
func (a *array) addChunks(ctx context.Context, m *chunkMap, v *view, fixed []int64, sides [2]grid.Interval, add func([]int64, stored)) error {
	l, err := a.list(ctx, listingTime)
	if err != nil {
		return err
	}
	if l == nil || !l.complete {
		if sides[0].Len() <= mostLooked && sides[1].Len() <= mostLooked && sides[0].Len()*sides[1].Len() <= mostLooked {
			return a.lookAt(ctx, v, fixed, sides, add)
		}
		if m.Complete = false; l == nil {
			return nil
		}
	}
	for i, is := range l.infos {
		add(l.index[i*a.Rank():][:a.Rank()], is)
	}
	return nil
}

// lookAt asks for each chunk of a map.
func (a *array) lookAt(ctx context.Context, v *view, fixed []int64, sides [2]grid.Interval, add func([]int64, stored)) error {
	group, within := parallel.New(ctx)
	group.SetLimit(engine.InFlight(a.Location().Store(), 0, 2))
	var mu sync.Mutex
	for y := sides[0].Start; y < sides[0].Stop; y++ {
		for x := sides[1].Start; x < sides[1].Stop; x++ {
			index := append([]int64(nil), fixed...)
			if index[v.x] = x; v.y >= 0 {
				index[v.y] = y
			}
			group.Go(func() error {
				info, err := a.look(within, index)
				if err == nil {
					mu.Lock()
					add(index, stored{info.Size, info.Modified.Unix()})
					mu.Unlock()
				}
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
					err = nil
				}
				return err
			})
		}
	}
	return group.Wait(nil)
}

// addInner adds the stored inner chunks of a map, from the indexes of their shards.
func (a *array) addInner(ctx context.Context, m *chunkMap, v *view, fixed []int64, sides [2]grid.Interval, add func([]int64, stored)) error {
	if sides[0].Len() > mostInner || sides[1].Len() > mostInner || sides[0].Len()*sides[1].Len() > mostInner {
		return refuse(http.StatusRequestEntityTooLarge, "inner chunks are told of at most %d: give a smaller box", mostInner)
	}
	places := map[string]func(within []int64) (int64, bool){}
	for y := sides[0].Start; y < sides[0].Stop; y++ {
		for x := sides[1].Start; x < sides[1].Stop; x++ {
			index := append([]int64(nil), fixed...)
			if index[v.x] = x; v.y >= 0 {
				index[v.y] = y
			}
			at, err := a.state.LocateInner(index)
			if err != nil {
				return err
			}
			key := a.state.Engine.Key(at.Shard).String()
			if _, known := places[key]; !known {
				p, err := a.state.Engine.Places(ctx, at.Shard)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				places[key] = func([]int64) (int64, bool) { return 0, false }
				if m.Complete = m.Complete && err == nil; err == nil && p != nil {
					places[key] = func(within []int64) (int64, bool) {
						_, n, ok := p.Of(within)
						return n, ok
					}
				}
			}
			if n, ok := places[key](at.Within); ok {
				add(index, stored{bytes: n})
			}
		}
	}
	return nil
}

// gap is a run of elements whose chunks are not stored.
type gap struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	First any   `json:"first"` // coordinates
	Last  any   `json:"last"`
}

// gaps is an answer.
type gaps struct {
	Missing  []gap `json:"missing"`
	Complete bool  `json:"complete"`
	version  string
}

func (g *gaps) tag() string { return g.version }

// missing answers where along an axis no chunk is stored.
func (h *Handler) missing(ctx context.Context, q *query) (any, error) {
	a, err := h.openAlong(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	l, err := a.list(ctx, listingTime)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, refuse(http.StatusNotAcceptable, "the store cannot list what is stored")
	}
	most := int(q.limit)
	if most < 0 {
		most = 1000
	}
	answer := &gaps{Missing: []gap{}, Complete: l.complete, version: a.version}
	if !l.complete {
		return answer, nil // what was not listed may be stored
	}
	present := map[int64]bool{}
	for i := range l.infos {
		present[l.index[i*a.Rank()+q.axis]] = true
	}
	axis, next := a.state.Grid.Axis(q.axis), int64(0)
	add := func(stop int64) {
		if next < stop {
			first, _ := axis.Cell(next)
			last, _ := axis.Cell(stop - 1)
			answer.Missing = append(answer.Missing, gap{From: first.Start, To: last.Start + last.Logical})
		}
		next = stop + 1
	}
	for _, k := range sorted(present) {
		if add(k); len(answer.Missing) > most {
			break
		}
	}
	if len(answer.Missing) <= most && next < axis.Chunks() && !zeroElsewhere(a.Shape(), q.axis) {
		add(axis.Chunks())
	}
	if len(answer.Missing) > most {
		answer.Missing, answer.Complete = answer.Missing[:most], false
	}
	return answer, a.nameGaps(ctx, q.axis, answer.Missing)
}

// zeroElsewhere reports whether an array has no elements along another axis.
func zeroElsewhere(shape []int64, axis int) bool {
	for i, n := range shape {
		if i != axis && n == 0 {
			return true
		}
	}
	return false
}

// nameGaps sets the coordinates of gaps.
func (a *array) nameGaps(ctx context.Context, axis int, list []gap) error {
	c, err := a.coordinateOf(ctx, axis)
	if err != nil || len(list) == 0 {
		return err
	}
	var places []int64
	for i := range list {
		list[i].First, list[i].Last = list[i].From, list[i].To-1
		places = append(places, list[i].From, list[i].To-1)
	}
	if c == nil {
		return nil
	}
	defer c.array.Close()
	texts, err := a.h.texts(ctx, c.array, places, true)
	if err != nil {
		return ctx.Err() // the indices tell as much
	}
	for i := range list {
		list[i].First, list[i].Last = texts[2*i], texts[2*i+1]
	}
	return nil
}

// price is what reading a selection takes.
type price struct {
	Requests int64 `json:"requests"`
	Bytes    int64 `json:"bytes"`
	Decoded  int64 `json:"decoded_bytes"`
	Elements int64 `json:"elements"`
	Complete bool  `json:"complete"` // bytes are known
	version  string
}

func (p *price) tag() string { return p.version }

// cost answers what reading a selection takes.
func (h *Handler) cost(ctx context.Context, q *query) (any, error) {
	a, v, err := h.openSelected(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	p := &price{Elements: v.Selection().Len(), version: a.version}
	touch := touched(a.state.Grid, v.Selection())
	units := touch
	if a.units != a.state.Grid {
		units = touched(a.units, v.Selection())
	}
	size := int64(max(1, a.state.Type.Size()))
	p.Requests, p.Decoded = 1, size
	for i := range touch {
		p.Requests = checked.Capped(p.Requests, touch[i].cells)
		p.Decoded = checked.Capped(p.Decoded, units[i].elements)
	}
	l, err := a.list(ctx, lookTime)
	if err != nil || l == nil {
		return p, err
	}
	for i, is := range l.infos {
		inside := true
		for axis, k := range l.index[i*a.Rank():][:a.Rank()] {
			inside = inside && k >= touch[axis].from && k < touch[axis].to
		}
		if inside {
			p.Bytes += is.bytes
		}
	}
	// Of shards only the inner chunks are read, and the indexes before them.
	if a.units != a.state.Grid {
		share := 1.0
		for i := range touch {
			share *= float64(units[i].elements) / float64(max(1, touch[i].elements))
		}
		p.Bytes, p.Requests = int64(float64(p.Bytes)*share), checked.Capped(p.Requests, 2)
	}
	p.Complete = l.complete
	return p, nil
}
