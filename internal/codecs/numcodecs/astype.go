// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"errors"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

func init() { registerFilter[asType]("astype") }

// AsType returns the metadata of numcodecs.astype, which stores elements as the type
// encoded. It does not check that they fit.
func AsType(encoded, decoded dtype.Type) metadata.Extension {
	return filterExtension("astype", struct {
		Encoded string `json:"encode_dtype"`
		Decoded string `json:"decode_dtype"`
	}{numPyName(encoded), numPyName(decoded)})
}

type asType struct {
	sameShape
	decoded, encoded dtype.Type
	from, to         filterType
}

func (a *asType) parse(configuration []byte) error {
	var m struct {
		Encoded string `json:"encode_dtype"`
		Decoded string `json:"decode_dtype"`
	}
	err := members(configuration, &m)
	if err == nil {
		a.encoded, err = parseNumPy("encode_dtype", m.Encoded)
	}
	if err == nil {
		a.decoded, err = parseNumPy("decode_dtype", m.Decoded)
	}
	if err == nil && a.encoded.IsZero() {
		err = errors.New("encode_dtype is missing")
	}
	return err
}

// Bind implements [codec.ArrayArray].
func (a *asType) Bind(spec codec.Spec) (codec.Spec, error) {
	var err error
	if a.from, a.to, err = bindTypes("numcodecs.astype", spec.Type, a.decoded, a.encoded); err != nil {
		return codec.Spec{}, err
	}
	return encodedSpec(spec, a.from, a.to), nil
}

// Encode implements [codec.ArrayArray].
func (a *asType) Encode(dst *codec.Block, src codec.Block) error {
	convert(dst.Data, src.Data, a.from, a.to)
	return nil
}

// Decode implements [codec.ArrayArray].
func (a *asType) Decode(dst *codec.Block, src codec.Block) error {
	convert(dst.Data, src.Data, a.to, a.from)
	return nil
}
