// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
)

// The members of the metadata of OME-Zarr (versions 0.4 and 0.5, section "multiscales").
const (
	omeMember         = "ome"
	multiscalesMember = "multiscales"
	datasetsMember    = "datasets"
	axesMember        = "axes"
)

// dataset is one level.
type dataset struct {
	Path            string           `json:"path"`
	Transformations []transformation `json:"coordinateTransformations"`
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
	for _, d := range list {
		if d.pathOfBase() == w.name && len(d.datasets) > 1+level {
			return w.describe(ctx, level)
		}
	}
	return nil
}

// described returns the attributes of the group with the levels of the array.
func (w *work) described(attributes []byte, levels int) ([]byte, error) {
	list, err := descriptions(attributes, w.base.Format())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(d *description) bool { return d.pathOfBase() == w.name })
	switch {
	case levels == 0 && (i < 0 || len(list[i].datasets) == 1):
		return attributes, nil // nothing to add to what another program may have written
	case i < 0:
		list, i = append(list, &description{raw: []byte("{}")}), len(list)
	}
	if err := w.fill(list[i], levels); err != nil {
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

// fill sets the levels in a description. Axes and the scale of the array stay, which
// another program may have written.
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
	if w.base.Format() == 2 {
		set("version", "0.4")
	}
	if _, ok, _ := metadata.Attribute(d.raw, axesMember); !ok {
		set("name", w.name)
		set(axesMember, w.axes())
	}
	set(datasetsMember, w.datasets(d, levels))
	set("type", w.Method)
	set("metadata", map[string]any{"method": "varve.dev/zarr/pyramid", "factors": w.factors})
	return err
}

// axes describes the axes of the array.
func (w *work) axes() []axis { return axesOf(w.present.DimensionNames(), w.factors) }

// datasets returns the array and its levels. A level has the scale of the array times all
// factors. If its elements stand for blocks, their positions are the centres of these.
func (w *work) datasets(d *description, levels int) []dataset {
	scale, shift, shifted := d.base(len(w.factors))
	list := make([]dataset, 0, 1+levels)
	if len(d.datasets) > 0 {
		list = append(list, d.datasets[0])
	} else {
		list = append(list, dataset{w.name, transformations(scale, shift, false)})
	}
	times := make([]float64, len(scale))
	for i := range times {
		times[i] = 1
	}
	for k := range levels {
		s, t := slices.Clone(scale), slices.Clone(shift)
		for i, f := range w.factors {
			times[i] *= float64(f)
			s[i] *= times[i]
			if w.Method.centred() {
				t[i] += scale[i] * (times[i] - 1) / 2
			}
		}
		list = append(list, dataset{pathOf(w.name, k+1), transformations(s, t, shifted || w.Method.centred())})
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
