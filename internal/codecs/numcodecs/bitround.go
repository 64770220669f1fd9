// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/metadata"
)

func init() { registerFilter[bitRound]("bitround") }

// BitRound returns the metadata of numcodecs.bitround, which rounds floats to the given
// number of bits of the fraction, ties to even. For new arrays use the codec "bitround"
// instead, of which this is the old name. zarrs also wrote integers under this name.
// Varve reads them if that codec is registered.
func BitRound(keepbits int) metadata.Extension {
	return filterExtension("bitround", struct {
		Keep int `json:"keepbits"`
	}{keepbits})
}

type bitRound struct {
	keep   int64
	format *number.Format   // nil if other is set
	other  codec.ArrayArray // the codec "bitround", for all but NumPy floats
}

func (r *bitRound) parse(configuration []byte) error {
	var m struct {
		Keep *codec.Int `json:"keepbits"`
	}
	err := members(configuration, &m)
	switch {
	case err != nil:
		return err
	case m.Keep == nil:
		return errors.New("keepbits is missing")
	case *m.Keep < 0:
		return fmt.Errorf("keepbits is %d, want 0 or more", *m.Keep)
	}
	r.keep = int64(*m.Keep)
	return nil
}

// Bind implements [codec.ArrayArray].
func (r *bitRound) Bind(spec codec.Spec) (codec.Spec, error) {
	f, ok := number.Of(spec.Type)
	if !ok || spec.Type.Kind() != dtype.KindFloat || numPyName(spec.Type) == "" {
		// zarrs wrote other data types under this name.
		return r.bindOther(spec)
	}
	if most := int64(f.Layout.Fraction); r.keep > most {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.bitround: keepbits is %d, %s has %d bits of fraction", codec.ErrConfiguration, r.keep, spec.Type, most)
	}
	r.format = f
	return spec, nil
}

func (r *bitRound) bindOther(spec codec.Spec) (codec.Spec, error) {
	made, err := codec.Default.New(metadata.Extension{Name: "bitround", Configuration: fmt.Appendf(nil, `{"keepbits":%d}`, r.keep)})
	if err != nil {
		return codec.Spec{}, fmt.Errorf("numcodecs.bitround: of %s: %w", spec.Type, err)
	}
	other, ok := made.(codec.ArrayArray)
	if !ok {
		return codec.Spec{}, fmt.Errorf("%w: numcodecs.bitround: %s is not float16, float32 or float64", codec.ErrConfiguration, spec.Type)
	}
	if spec, err = other.Bind(spec); err != nil {
		return spec, fmt.Errorf("numcodecs.bitround: %w", err)
	}
	r.other = other
	return spec, nil
}

// EncodedShape implements [codec.ArrayArray].
func (*bitRound) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }

// Encode implements [codec.ArrayArray].
func (r *bitRound) Encode(dst *codec.Block, src codec.Block) error {
	if r.other != nil {
		return r.other.Encode(dst, src)
	}
	r.format.RoundFraction(dst.Data, src.Data, int(r.keep))
	return nil
}

// Decode implements [codec.ArrayArray].
func (r *bitRound) Decode(dst *codec.Block, src codec.Block) error {
	copy(dst.Data, src.Data)
	return nil
}
