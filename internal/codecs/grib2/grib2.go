// SPDX-License-Identifier: Apache-2.0

// Package grib2 is the codec "varve.grib2", which decodes GRIB2 messages: a chunk is a
// whole message, and its elements are the values of a field of it. References to GRIB
// files need it.
//
// Values are float64 elements in the order of the message. One that a bitmap or the
// packing leaves out is NaN. The packings are simple (template 5.0), complex (5.2),
// complex with spatial differencing (5.3), IEEE (5.4), PNG (5.41) and CCSDS (5.42).
//
// The codec only decodes. Importing the package registers it. Numbers of sections, tables
// and templates in comments are those of the WMO Manual on Codes, volume I.2, FM 92 GRIB
// edition 2.
package grib2

import (
	"fmt"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

// Name is the name of the codec in metadata.
const Name = "varve.grib2"

func init() { codec.Register(Name, New) }

// maxField bounds the number of a field. Sensible messages have one field, or two.
const maxField = 1 << 16

// Extension returns the metadata of the codec for a field of each message. The first
// field is 0.
func Extension(field int) metadata.Extension {
	e := metadata.Extension{Name: Name, Configuration: []byte("{}")}
	if field > 0 {
		e.Configuration = fmt.Appendf(nil, `{"field":%d}`, field)
	}
	return e
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes].
func New(configuration []byte) (any, error) {
	var m struct {
		Field codec.Int `json:"field"`
	}
	if err := codec.DecodeConfiguration(configuration, &m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", codec.ErrConfiguration, Name, err)
	}
	if m.Field < 0 || m.Field > maxField {
		return nil, fmt.Errorf("%w: %s: field is %d, want 0 to %d", codec.ErrConfiguration, Name, m.Field, maxField)
	}
	return &coder{int(m.Field)}, nil
}

type coder struct{ field int }

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	if spec.Type != dtype.Float64 {
		return fmt.Errorf("%w: %s: it decodes to float64, not %s", codec.ErrConfiguration, Name, spec.Type)
	}
	return nil
}

// MaxMessage returns the largest size in bytes of a message whose fields have so many
// values. It allows for several fields, and for sections of any sensible length.
func MaxMessage(values int64) int64 {
	const sections, perValue = 1 << 20, 32
	return min(max(values, 0), math.MaxInt64/(2*perValue))*perValue + sections
}

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(_ []int64, n int64) (int64, bool) { return MaxMessage(n / 8), false }

// Encode implements [codec.ArrayBytes]. The error wraps [codec.ErrUnsupported].
func (c *coder) Encode(dst []byte, _ codec.Block) ([]byte, error) {
	return dst, fmt.Errorf("%w: %s only decodes", codec.ErrUnsupported, Name)
}

// Decode implements [codec.ArrayBytes].
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	if err := c.decode(dst.Data, src); err != nil {
		return fmt.Errorf("%w (%s, field %d)", err, Name, c.field)
	}
	return nil
}

func (c *coder) decode(data, src []byte) error {
	f, err := find(src, c.field)
	if err != nil {
		return err
	}
	g, err := ParseGrid(f.grid)
	if err != nil {
		return err
	}
	v := values(data)
	if g.Points != int64(v.len()) {
		return corrupt("section 3 has %s, the chunk has %d", quantity.Count(g.Points, "points"), v.len())
	}
	p, err := parsePacking(f.packing)
	if err != nil {
		return err
	}
	present := g.Points
	if f.masked {
		if present, err = f.count(g.Points); err != nil {
			return err
		}
	}
	if p.values != present {
		return corrupt("section 5 has %s, for %s", quantity.Count(p.values, "values"), quantity.Count(present, "points"))
	}
	if err := p.unpack(v[:8*present], f.data); err != nil {
		return err
	}
	if f.masked {
		v.spread(f.bitmap, int(present))
	}
	g.straighten(v)
	return nil
}

// corrupt returns a [codec.ErrCorrupt] with a reason.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", codec.ErrCorrupt, fmt.Sprintf(format, args...))
}

// unsupported returns a [codec.ErrUnsupported] with a reason.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", codec.ErrUnsupported, fmt.Sprintf(format, args...))
}
