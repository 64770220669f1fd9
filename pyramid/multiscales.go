// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/metadata"
)

// The members of the metadata of OME-Zarr (versions 0.4 and 0.5, section "multiscales").
const (
	omeMember         = "ome"
	multiscalesMember = "multiscales"
	datasetsMember    = "datasets"
	axesMember        = "axes"
)

// dataset is one level. It keeps what it does not know.
type dataset struct {
	Path            string           `json:"path"`
	Transformations []transformation `json:"coordinateTransformations"`

	raw []byte // as another program has written it, or nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *dataset) UnmarshalJSON(raw []byte) error {
	type members dataset
	err := json.Unmarshal(raw, (*members)(d))
	d.raw = bytes.Clone(raw)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (d dataset) MarshalJSON() ([]byte, error) {
	if d.raw != nil {
		// A level of another program keeps its spelling, with members that this package
		// does not know.
		return d.raw, nil
	}
	type members dataset
	return json.Marshal(members(d))
}

// size returns the volume of an element, or 0 if it is not known.
func (d *dataset) size() float64 {
	size := 0.0
	for _, t := range d.Transformations {
		if t.Type == "scale" && len(t.Scale) > 0 {
			size = 1
			for _, f := range t.Scale {
				size *= f
			}
		}
	}
	return size
}

// transformation leads from indices of a level to positions.
type transformation struct {
	Type        string    `json:"type"`
	Scale       []float64 `json:"scale,omitempty"`
	Translation []float64 `json:"translation,omitempty"`
}

// description is the metadata of the levels of one array. It keeps what it does not know.
type description struct {
	raw      []byte // an object
	datasets []dataset
}

// isOurs reports whether this package has made the description: the array was none of an
// image before.
func (d *description) isOurs() bool {
	var has struct{ Metadata struct{ Method string } }
	return json.Unmarshal(d.raw, &has) == nil && has.Metadata.Method == ome.Pyramid
}

// find returns the description of an array, or nil.
func find(list []*description, name string) *description {
	for _, d := range list {
		if d.pathOfBase() == name {
			return d
		}
	}
	return nil
}

// pathOfBase returns the path of the array, or "".
func (d *description) pathOfBase() string {
	if len(d.datasets) == 0 {
		return ""
	}
	return d.datasets[0].Path
}

// describe publishes the metadata with the given number of levels.
func (w *work) describe(ctx context.Context, levels int) error {
	g, err := w.group.OpenGroup(ctx, w.options())
	if err != nil {
		return err
	}
	raw, err := w.described(g.Attributes(), levels)
	if err != nil || string(raw) == string(g.Attributes()) {
		return err
	}
	// The attributes are computed again from those that are stored by now: another
	// program may have changed them since the group was opened.
	return g.UpdateAttributes(ctx, func(now []byte) ([]byte, error) { return w.described(now, levels) })
}

// undescribe removes the levels after the given one from the metadata.
func (w *work) undescribe(ctx context.Context, level int) error {
	g, err := w.group.OpenGroup(ctx, w.options())
	if err != nil {
		return err
	}
	list, err := descriptions(g.Attributes(), w.base.Format())
	if err != nil {
		return err
	}
	// Without a change there is no write, and no conflict with other programs.
	if d := find(list, w.layout.name); d == nil || len(w.maintained(d)) <= level {
		return nil
	}
	return w.describe(ctx, level)
}

// maintained returns the levels in a description that this package has made.
func (w *work) maintained(d *description) (list []dataset) {
	// The first one is the array itself.
	for _, level := range d.datasets[1:] {
		if w.isOwn(level) {
			list = append(list, level)
		}
	}
	return list
}

// isOwn reports whether this package has made a level.
func (w *work) isOwn(level dataset) bool { return w.layout.owns(level.Path) && !w.others[level.Path] }

// described returns the attributes of the group with the levels of the array.
func (w *work) described(attributes []byte, levels int) ([]byte, error) {
	list, err := descriptions(attributes, w.base.Format())
	if err != nil {
		return nil, err
	}
	d := find(list, w.layout.name)
	switch {
	case levels == 0 && (d == nil || len(w.maintained(d)) == 0):
		return attributes, nil // nothing to add to what another program may have written
	case d == nil:
		d = &description{raw: []byte("{}")}
		list = append(list, d)
	}
	if err := w.fill(d, levels); err != nil {
		return nil, err
	}
	raws := make([]json.RawMessage, len(list))
	for k, d := range list {
		raws[k] = d.raw
	}
	all, err := json.Marshal(raws)
	if err != nil {
		return nil, err
	}
	// OME-Zarr 0.4 has the list in the attributes of the group, 0.5 in their member ome.
	if w.base.Format() == 2 {
		return metadata.SetAttribute(attributes, multiscalesMember, all)
	}
	return w.setOME(attributes, all)
}

// setOME sets the list of multiscales in format 3.
func (w *work) setOME(attributes, list []byte) ([]byte, error) {
	ome, ok, err := metadata.Attribute(attributes, omeMember)
	if err != nil {
		return nil, err
	}
	if !ok {
		// The version stands once above the list in 0.5, and in each entry in 0.4.
		ome = []byte(`{"version":"0.5"}`)
	}
	if ome, err = metadata.SetAttribute(ome, multiscalesMember, list); err != nil {
		return nil, err
	}
	return metadata.SetAttribute(attributes, omeMember, ome)
}

// descriptions returns the list of multiscales in the attributes of the group.
func descriptions(attributes []byte, format int) ([]*description, error) {
	raw, ok := attributes, true
	var err error
	if format != 2 {
		raw, ok, err = metadata.Attribute(attributes, omeMember)
	}
	if ok && err == nil {
		raw, ok, err = metadata.Attribute(raw, multiscalesMember)
	}
	if !ok || err != nil {
		return nil, err
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(raw, &raws); err != nil {
		return nil, fmt.Errorf("%w: the attribute %s of the group is not a list: %w", zarr.ErrInvalidMetadata, multiscalesMember, err)
	}
	list := make([]*description, len(raws))
	for i, r := range raws {
		var d struct{ Datasets []dataset }
		if err := json.Unmarshal(r, &d); err != nil {
			return nil, fmt.Errorf("%w: entry %d of the attribute %s of the group: %w", zarr.ErrInvalidMetadata, i, multiscalesMember, err)
		}
		list[i] = &description{r, d.Datasets}
	}
	return list, nil
}

// fill sets the levels in a description. All else stays of one that another program has
// made.
func (w *work) fill(d *description, levels int) (err error) {
	set := func(member string, value any) {
		var raw []byte
		if err == nil {
			raw, err = json.Marshal(value)
		}
		if err == nil {
			d.raw, err = metadata.SetAttribute(d.raw, member, raw)
		}
	}
	isNew := len(d.datasets) == 0
	if isNew && w.base.Format() == 2 {
		set("version", "0.4")
	}
	// What another program has written of the image stays: names and axes are its own.
	if isNew {
		set("name", w.layout.name)
		set(axesMember, w.axes())
	}
	ours := isNew || d.isOurs()
	set(datasetsMember, w.datasets(d, levels))
	if ours {
		set("type", w.Method)
		set("metadata", map[string]any{"method": ome.Pyramid, "factors": w.Block})
	}
	return err
}

// axes describes the axes of the array.
func (w *work) axes() []axis { return axesOf(w.present.DimensionNames(), w.Block) }

// datasets returns the array, the levels of other programs, and its own ones. These have
// the scale of the array times all factors. If their elements stand for blocks, their
// positions are the centres of these. Larger elements follow smaller ones.
func (w *work) datasets(d *description, levels int) []dataset {
	scale, shift, shifted := d.base(len(w.Block))
	list := slices.Clone(d.datasets)
	if len(list) == 0 {
		list = append(list, dataset{Path: w.layout.name, Transformations: transformations(scale, shift, false)})
	}
	list = append(list[:1], slices.DeleteFunc(list[1:], w.isOwn)...)
	times := make([]float64, len(scale))
	for i := range times {
		times[i] = 1
	}
	for k := range levels {
		s, t := slices.Clone(scale), slices.Clone(shift)
		for i, f := range w.Block {
			times[i] *= float64(f)
			s[i] *= times[i]
			if w.Method.centred() {
				t[i] += scale[i] * (times[i] - 1) / 2
			}
		}
		list = append(list, dataset{Path: w.layout.path(k + 1), Transformations: transformations(s, t, shifted || w.Method.centred())})
	}
	if len(list) > 1+levels {
		sort.SliceStable(list[1:], func(i, j int) bool { return list[1+i].size() < list[1+j].size() })
	}
	return list
}

// base returns the transformations of the array itself.
func (d *description) base(rank int) (scale, shift []float64, shifted bool) {
	scale, shift = make([]float64, rank), make([]float64, rank)
	for i := range scale {
		scale[i] = 1
	}
	if len(d.datasets) == 0 {
		return scale, shift, false
	}
	for _, t := range d.datasets[0].Transformations {
		if len(t.Scale) == rank {
			scale = t.Scale
		}
		if len(t.Translation) == rank {
			shift, shifted = t.Translation, true
		}
	}
	return scale, shift, shifted
}

func transformations(scale, shift []float64, shifted bool) []transformation {
	list := []transformation{{Type: "scale", Scale: scale}}
	if shifted {
		list = append(list, transformation{Type: "translation", Translation: shift})
	}
	return list
}
