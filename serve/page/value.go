// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/strictjson"
)

// value is an element.
type value struct {
	Value       json.RawMessage   `json:"value"`
	Decoded     json.RawMessage   `json:"decoded"`
	Text        string            `json:"text"`
	Coordinates []json.RawMessage `json:"coordinates"`
	State       byte              `json:"state"`
	Chunk       *chunkFacts       `json:"chunk"`
	Inner       *chunkFacts       `json:"inner"`
	Problem     *problem          `json:"problem,omitempty"`
	version     string
}

func (v *value) tag() string { return v.version }

// chunkFacts is a chunk or an inner chunk.
type chunkFacts struct {
	Index    []int64    `json:"index"`
	Key      string     `json:"key,omitempty"`
	Start    []int64    `json:"start"`
	Stop     []int64    `json:"stop"`
	Stored   bool       `json:"stored"`
	Bytes    int64      `json:"bytes"`
	Modified *time.Time `json:"modified"`
}

// value answers with an element, and where it is.
func (h *Handler) value(ctx context.Context, q *query) (any, error) {
	a, err := h.openArray(ctx, q.node)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	if len(q.index) != a.Rank() {
		return nil, refuse(http.StatusBadRequest, "index= has one index for each axis")
	}
	for i, at := range q.index {
		if at >= a.Shape()[i] {
			return nil, refuse(http.StatusBadRequest, "index %d is beyond the end of axis %d, whose length is %d", at, i, a.Shape()[i])
		}
	}
	elem, u, err := a.one(ctx, q.index)
	if err != nil {
		return nil, err
	}
	v := &value{Value: json.RawMessage("null"), Decoded: json.RawMessage("null"), State: u.state, Coordinates: []json.RawMessage{}, version: a.version}
	if u.state == stateUnreadable {
		p := a.problem(u)
		v.Problem = &p
	}
	if elem != nil {
		a.spell(ctx, v, elem)
	}
	for i := range q.index {
		c, err := a.coordinateOf(ctx, i)
		if err != nil {
			return nil, err
		}
		text, _ := json.Marshal(q.index[i])
		if c != nil {
			list, err := h.texts(ctx, c.array, q.index[i:i+1], true)
			if err == nil {
				text = list[0]
			}
			_ = c.array.Close() // it was only read
		}
		v.Coordinates = append(v.Coordinates, text)
	}
	v.Chunk = chunkOf(a.state.Grid, q.index)
	if v.Chunk == nil {
		return v, ctx.Err()
	}
	v.Chunk.Key = a.state.Engine.Key(v.Chunk.Index).String()
	if v.Chunk.Stored = u.info.Size > 0 || !u.info.Version.IsZero(); v.Chunk.Stored {
		v.Chunk.Bytes = u.info.Size
		if at := u.info.Modified; !at.IsZero() {
			v.Chunk.Modified = &at
		}
	}
	if a.units != a.state.Grid {
		v.Inner = chunkOf(a.units, q.index)
		v.Inner.Stored = u.state != stateMissing
	}
	return v, ctx.Err()
}

// chunkOf returns the chunk of a grid that has an element.
func chunkOf(g *grid.Grid, index []int64) *chunkFacts {
	f := &chunkFacts{Index: []int64{}, Start: []int64{}, Stop: []int64{}}
	for i, at := range index {
		k, _, ok := g.Axis(i).Locate(at)
		cell, _ := g.Axis(i).Cell(k)
		if !ok {
			return nil
		}
		f.Index, f.Start, f.Stop = append(f.Index, k), append(f.Start, cell.Start), append(f.Stop, cell.Start+cell.Logical)
	}
	return f
}

// spell sets the texts of a value, and its state.
func (a *array) spell(ctx context.Context, v *value, elem []byte) {
	t := a.state.Type
	if long := elem; t.Variable() && len(long) > longestText {
		elem = long[:longestText]
	}
	v.Value = strictjson.AppendSafe(nil, t.AppendJSON(nil, elem))
	src := &export.Source{Stored: t, Type: t}
	v.Text = textOf(src, elem)
	if cf.IsNumeric(t) {
		if d, err := cf.DecodingOf(ctx, a.Array); err == nil && d != nil {
			made := make([]byte, d.Type().Size())
			if src.Decoding, src.Type = d, d.Type(); d.MayOverflow() && !d.Fits(elem) {
				src.Decoding = d.AsText()
				src.Type = src.Decoding.Type()
			}
			if src.Type.Variable() {
				made = []byte(src.Decoding.DecodeText(elem))
			} else {
				src.Decoding.Decode(made, elem)
			}
			v.Decoded, v.Text = jsonOf(src, made), textOf(src, made)
		}
	}
	if v.State != stateValue {
		return
	}
	if scale, err := a.scaleOf(ctx, &query{}); err == nil {
		var number [1]float32
		var state [1]byte
		scale.convert(number[:], state[:], elem)
		v.State = state[0]
	} else if string(elem) == string(a.state.Fill) {
		v.State = stateFill
	}
}
