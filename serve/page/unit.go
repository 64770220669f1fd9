// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/store"
)

// The states of an element.
const (
	stateValue      = 0
	stateFill       = 1
	stateNaN        = 2
	stateMissing    = 3 // its chunk is not stored
	stateAbsent     = 4 // missing by an attribute
	stateUnknown    = 5 // its chunk was not read
	stateUnreadable = 6
)

// array is an array that a question is about, as it is now.
type array struct {
	*place
	*zarr.Array
	h       *Handler
	state   *snapshot.Array
	units   *grid.Grid // what is decoded at once: chunks or inner chunks
	counter *observe.Counter
	version string
	coding  string // what stored bytes mean
	near    bool
}

func (h *Handler) newArray(p *place, a *zarr.Array, counter *observe.Counter) *array {
	s := a.Core().State()
	made := &array{place: p, Array: a, h: h, state: s, units: s.Finest(), counter: counter, near: engine.Near(a.Location().Store())}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %q %q %d", s.Type, s.Fill, s.Doc.DataType.Append(nil), s.Engine.Keys)
	for _, c := range s.Doc.Codecs {
		fmt.Fprintf(sum, " %s", c.Append(nil))
	}
	made.coding = string(sum.Sum(nil)[:12])
	fmt.Fprintf(sum, "%q %v %q", s.Version.String(), s.Grid.Shape(), s.Doc.Attributes)
	made.version = base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:9])
	return made
}

// node returns the name of the array for the client.
func (a *array) node() string {
	if a.path == "" {
		return a.name
	}
	return a.name + "/" + a.path
}

// sighting is what was last seen of a stored chunk.
type sighting struct {
	info store.Info
	err  error
	at   time.Time
}

// sightings are those of chunks in far stores, which are asked at most once in trusted.
type sightings struct {
	mu   sync.Mutex
	seen map[string]sighting
}

const (
	trusted       = 2 * time.Second
	mostSightings = 1 << 16
)

// look returns what is stored of a chunk. The error of one that is not stored wraps
// [fs.ErrNotExist].
func (a *array) look(ctx context.Context, chunk []int64) (store.Info, error) {
	key := a.state.Engine.Key(chunk)
	if a.near {
		return store.Stat(ctx, a.state.Engine.Store, key)
	}
	s, where := &a.h.seen, a.name+"/"+key.String()+a.version
	s.mu.Lock()
	is, known := s.seen[where]
	s.mu.Unlock()
	if known && time.Since(is.at) < trusted {
		return is.info, is.err
	}
	info, err := store.Stat(ctx, a.state.Engine.Store, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= mostSightings {
		s.seen = map[string]sighting{}
	}
	s.seen[where] = sighting{info, err, time.Now()}
	return info, err
}

// unit is a chunk or an inner chunk that was read.
type unit struct {
	data  []byte // elements of its part within the array, in C order
	state byte   // stateValue, stateMissing or stateUnreadable
	chunk []int64
	info  store.Info
	err   error // why it is not readable
}

// problem is a chunk that cannot be read.
type problem struct {
	Key     string `json:"key"`
	Message string `json:"message"`
}

// mostBits bounds the inner chunks of a shard of which it is kept which are stored.
const mostBits = 1 << 24

// inShard reports whether the unit that begins at an element is stored in its shard.
func (a *array) inShard(ctx context.Context, chunk, start []int64, info store.Info) (bool, error) {
	index := make([]int64, len(start))
	for i, at := range start {
		index[i], _, _ = a.units.Axis(i).Locate(at)
	}
	place, err := a.state.LocateInner(index)
	if err != nil {
		return false, err
	}
	key := a.state.Engine.Key(chunk)
	count := make([]int64, len(index))
	for i := range index {
		cell, _ := a.state.Grid.Axis(i).Cell(chunk[i])
		count[i] = checked.CeilDiv(cell.Encoded, max(1, place.Part.Count[i]))
	}
	n, ok := checked.Product(count...)
	if !ok || n > mostBits {
		return true, nil
	}
	where := plain.Place{Array: a.h, Where: "index " + a.name + "/" + key.String() + a.coding, Version: plain.VersionOf(info, time.Now())}
	bits, err := a.h.kept.Get(ctx, where, func(ctx context.Context) ([]byte, error) {
		places, err := a.state.Engine.Places(ctx, chunk)
		if err != nil || places == nil {
			return nil, err
		}
		bits, at := make([]byte, n), 0
		for index := range grid.BoxOf(count).IndicesInto(make([]int64, len(count))) {
			if _, _, stored := places.Of(index); stored {
				bits[at] = 1
			}
			at++
		}
		return bits, nil
	})
	if err != nil || bits == nil {
		return false, err
	}
	at := int64(0)
	for i, n := range count {
		at = at*n + place.Within[i]
	}
	return bits[at] == 1, nil
}

// unitBytes returns the bytes of a decoded unit, or false if they overflow.
func unitBytes(box grid.Box, size int) (int64, bool) {
	n, ok := box.Len()
	if !ok {
		return 0, false
	}
	return checked.Mul(n, int64(size))
}

// begin finds out whether the unit that has an element is stored.
func (a *array) begin(ctx context.Context, start []int64) (u unit) {
	u.state = stateUnreadable
	if u.chunk, _, u.err = a.state.Grid.Locate(start); u.err != nil {
		return u
	}
	u.info, u.err = a.look(ctx, u.chunk)
	stored := u.err == nil
	if stored && a.units != a.state.Grid {
		stored, u.err = a.inShard(ctx, u.chunk, start, u.info)
	}
	switch {
	case errors.Is(u.err, fs.ErrNotExist) || u.err == nil && !stored:
		u.state, u.err = stateMissing, nil
	case u.err == nil:
		u.state = stateValue
	}
	return u
}

// unit reads the unit with a box, or only the selected elements of one that is too large
// to be kept. kept says which.
func (a *array) unit(ctx context.Context, box grid.Box, sel func() selection.Selection) (u unit, kept bool) {
	start, size := make([]int64, len(box)), a.state.Type.Size()
	for i := range box {
		start[i] = box[i].Start
	}
	if u = a.begin(ctx, start); u.state != stateValue {
		return u, true
	}
	n, ok := unitBytes(box, size)
	if ok && n <= a.h.Memory/8 {
		where := []byte(a.name + "/" + a.state.Engine.Key(u.chunk).String() + a.coding)
		for _, side := range box {
			where = binary.AppendVarint(binary.AppendVarint(where, side.Start), side.Stop)
		}
		at := plain.Place{Array: a.h, Where: string(where), Version: plain.VersionOf(u.info, time.Now())}
		u.data, u.err = a.h.kept.Get(ctx, at, func(ctx context.Context) ([]byte, error) {
			return a.decode(ctx, selection.BoxOf(box), n, n)
		})
		kept = true
	} else {
		some := sel()
		var r *selection.Resolved
		if r, u.err = selection.Resolve(some, a.state.Grid.Shape()); u.err == nil {
			need := r.Len() * int64(size)
			switch chain := a.state.Engine.Chain; {
			case chain.Partial() && !chain.Divided():
				u.data, u.err = a.decode(ctx, some, need, need)
			case ok && n <= a.h.Memory/2:
				u.data, u.err = a.decode(ctx, some, need, n+need)
			default:
				u.err = refuse(http.StatusRequestEntityTooLarge, "a chunk is larger, decoded, than this server may hold: %s; start it again with more memory (--memory)", quantity.Bytes(a.h.Memory/2))
			}
		}
	}
	if u.err != nil {
		u.state = stateUnreadable
	}
	return u, kept
}

// decode reads selected elements of n bytes, with so much of the memory.
func (a *array) decode(ctx context.Context, sel selection.Selection, n, need int64) ([]byte, error) {
	held, err := a.h.work.AcquireMore(ctx, need+a.h.Memory/32)
	if err != nil {
		return nil, err
	}
	defer a.h.work.ReleaseMore(held)
	data := make([]byte, n)
	err = a.Core().Read(ctx, a.state, sel, snapshot.Exactly(a.state.Type), false, func(s *snapshot.Selected) (strided.View, error) {
		return s.View(element.Buffer{Type: s.Type, Data: data})
	})
	return data, failure.On(a.Array, "read", err)
}

// problem says why a unit cannot be read.
func (a *array) problem(u unit) problem {
	p := problem{a.state.Engine.Key(u.chunk).String(), "the chunk cannot be read: the log of the server says why"}
	at := (*zarr.Error)(nil)
	switch t := (*refusal)(nil); {
	case errors.As(u.err, &t):
		p.Message = t.Detail
	case errors.Is(u.err, fs.ErrPermission):
		p.Message = "the chunk may not be read"
	case errors.As(u.err, &at) && zarr.KindOf(u.err) == "corrupt":
		p.Message = at.Err.Error()
	default:
		a.h.Log.Error("reading", "node", a.node(), "key", p.Key, "error", u.err)
	}
	return p
}

// one reads an element of any type. It is nil if the unit of the element cannot be read.
func (a *array) one(ctx context.Context, index []int64) (elem []byte, u unit, err error) {
	box := make(grid.Box, len(index))
	whole := make(grid.Box, len(index))
	for i, at := range index {
		box[i] = grid.Interval{Start: at, Stop: at + 1}
		k, _, _ := a.units.Axis(i).Locate(at)
		cell, _ := a.units.Axis(i).Cell(k)
		whole[i] = grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
	}
	if !a.state.Type.Variable() {
		u, kept := a.unit(ctx, whole, func() selection.Selection { return selection.BoxOf(box) })
		size, at := a.state.Type.Size(), int64(0)
		switch {
		case u.state == stateMissing:
			return a.state.Fill, u, nil
		case u.state != stateValue:
			return nil, u, ctx.Err()
		case kept:
			for i := range box {
				at = at*whole[i].Len() + box[i].Start - whole[i].Start
			}
		}
		return u.data[at*int64(size):][:size], u, nil
	}
	if u = a.begin(ctx, index); u.state != stateValue {
		if u.state == stateMissing {
			elem = a.state.Fill
		}
		return elem, u, ctx.Err()
	}
	held, err := a.h.work.AcquireMore(ctx, a.h.Memory/4)
	if err != nil {
		return nil, u, err
	}
	defer a.h.work.ReleaseMore(held)
	e := export.Values{Type: a.state.Type, Words: make([][]byte, 1)}
	if u.err = e.Read(ctx, a.Array, selection.BoxOf(box)); u.err != nil {
		u.state = stateUnreadable
		return nil, u, ctx.Err()
	}
	return e.Words[0], u, nil
}
