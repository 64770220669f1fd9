// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/shuffle"
	"varve.dev/zarr/metadata"
)

func init() {
	register("shuffle", newShuffle, "shuffle", "https://codec.zarrs.dev/bytes_to_bytes/shuffle")
}

// Shuffle returns the metadata of numcodecs.shuffle. It stores the first bytes of all
// elements, then all second bytes, and so on, which compress better. An element has size
// bytes, of which 1 changes nothing. 0 is the size of the data type.
func Shuffle(size int) metadata.Extension { return extension("shuffle", `{"elementsize":%d}`, size) }

// usualElement is the default element size of numcodecs in bytes.
const usualElement = 4

func newShuffle(configuration []byte) (any, error) {
	var c struct {
		Size *elementSize `json:"elementsize"`
	}
	if err := decode("shuffle", configuration, &c, "elementsize"); err != nil {
		return nil, err
	}
	// numcodecs has a default of 4, which zarr-python replaces by the size of the type.
	if c.Size == nil {
		return &shuffler{size: usualElement, guessed: true}, nil
	}
	size := int64(c.Size.Int)
	if size < 0 {
		return nil, fmt.Errorf("%w: shuffle: elementsize is %d", codec.ErrConfiguration, size)
	}
	return &shuffler{size: size, zero: size == 0, word: c.Size.word}, nil
}

// elementSize is a number, or the text of one, as netcdf-c writes it.
type elementSize struct {
	codec.Int
	word bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *elementSize) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil {
		if number, ok := shuffle.Size(word); ok {
			e.word = true
			text = []byte(number)
		}
	}
	return e.Int.UnmarshalJSON(text)
}

type shuffler struct {
	size    int64 // bytes of an element
	guessed bool  // the metadata has no size
	zero    bool  // the metadata has the size 0
	word    bool  // the metadata has the size as a text
}

// Bind implements [codec.Binder]. If the metadata has no element size, zarr-python uses
// the size of the data type. netcdf-c does so whatever the size is, and writes 0.
func (s *shuffler) Bind(spec codec.Spec) error {
	// A size in the metadata takes precedence over that of the type.
	if !s.guessed && !s.zero {
		return nil
	}
	if s.size = int64(spec.Type.Size()); s.size == 0 && s.guessed {
		return fmt.Errorf("%w: shuffle: elements of data type %s have no fixed size; give elementsize", codec.ErrConfiguration, spec.Type.Name())
	}
	return nil
}

// Repaired returns the codec with the element size that 0 or a text stands for, and
// notes: numcodecs takes 0 for elements of one byte.
func (s *shuffler) Repaired() (metadata.Extension, []coding.Repair) {
	var repairs []coding.Repair
	if s.word {
		repairs = append(repairs, coding.Repair{Note: "the elementsize of shuffle is a text, which was read as a number (netcdf-c writes it)"})
	}
	if !s.zero || s.size <= 1 {
		return Shuffle(int(s.size)), repairs
	}
	note := fmt.Sprintf("the elementsize of shuffle is 0, which was read as the size of the data type, %d (netcdf-c writes it); zarr-python does not, and returns wrong values", s.size)
	return Shuffle(int(s.size)), append(repairs, coding.Repair{Note: note, Misread: true})
}

// MaxEncoded implements [codec.BytesBytes].
func (*shuffler) MaxEncoded(n int64) int64 { return n }

// Encode implements [codec.BytesBytes].
func (s *shuffler) Encode(dst, src []byte) ([]byte, error) {
	if s.size > 1 && int64(len(src))%s.size != 0 {
		return dst, fmt.Errorf("%w: shuffle: %s not a multiple of elementsize %d, as after a checksum; "+
			"make a new array with the checksum behind all other codecs ("+remedy.ConvertTo+")", codec.ErrConfiguration, quantity.Count(len(src), "bytes are"), s.size)
	}
	n := len(dst)
	dst = slices.Grow(dst, len(src))[:n+len(src)]
	// Shuffling elements of one byte changes nothing.
	if s.size <= 1 || len(src) == 0 {
		copy(dst[n:], src)
	} else {
		shuffle.Shuffle(dst[n:], src, int(s.size))
	}
	return dst, nil
}

// Decode implements [codec.BytesBytes]. HDF5 shuffles what other filters have encoded,
// such as elements with a checksum. It leaves the bytes after the last whole element as
// they are; numcodecs refuses them.
func (s *shuffler) Decode(dst, src []byte, most int64) ([]byte, error) {
	if int64(len(src)) > most {
		return dst, fmt.Errorf("%w: shuffle: %s, want at most %d", codec.ErrTooLong, quantity.Count(len(src), "bytes"), most)
	}
	n := len(dst)
	dst = slices.Grow(dst, len(src))[:n+len(src)]
	if s.size <= 1 || s.size > int64(len(src)) {
		copy(dst[n:], src)
	} else {
		shuffle.Unshuffle(dst[n:], src, int(s.size))
	}
	return dst, nil
}
