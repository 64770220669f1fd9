// SPDX-License-Identifier: Apache-2.0

package coding

import "varve.dev/zarr/metadata"

// More powers of codecs, beside those of package codec. Only codecs of this module have
// them.

// Adapter is the power of a [codec.BytesBytes] codec to choose settings for each chunk,
// which its decoder reads whatever the metadata say. A chain uses it if
// [codec.Environment.Adapt] is set.
type Adapter interface {
	// EncodeAdapted is Encode with the settings that suit a sample of src. The same src
	// and configuration always give the same bytes.
	EncodeAdapted(dst, src []byte) ([]byte, error)
}

// Validator is the power of a [codec.Transparent] codec to refuse bytes that are not
// values of the data type, such as a bool that is neither 0 nor 1. The chain calls it
// when it skips Decode.
type Validator interface {
	// Validate returns an error if an element of data is invalid.
	Validate(data []byte) error
}

// Completer is the power of a codec whose configuration has optional members.
type Completer interface {
	// Complete is called after Bind, with the metadata e from which the codec was made.
	// It returns e with all members that matter for the bound arrays, and without the
	// others.
	Complete(e metadata.Extension) metadata.Extension
}
