// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"fmt"

	"varve.dev/zarr/codec"
	_ "varve.dev/zarr/internal/codecs/blosc" // registers the codec that newBlosc makes
	"varve.dev/zarr/metadata"
)

func init() { register("blosc", newBlosc) }

// Blosc returns the metadata of numcodecs.blosc, which is the codec "blosc" with the
// element size of the data type. The shuffle is 0 for none, 1 for bytes, 2 for bits, and
// -1 for bits if elements have one byte and for bytes otherwise. For a blocksize of 0,
// the codec chooses one.
func Blosc(cname string, clevel, shuffle, blocksize int) metadata.Extension {
	return extension("blosc", `{"cname":%q,"clevel":%d,"shuffle":%d,"blocksize":%d}`, cname, clevel, shuffle, blocksize)
}

// newBlosc makes numcodecs.blosc. The codec "blosc" checks most members.
func newBlosc(configuration []byte) (any, error) {
	b := &blosc{CName: "lz4", Level: 5, Shuffle: 1}
	if err := decode("blosc", configuration, b, "typesize"); err != nil {
		return nil, err
	}
	if b.Shuffle < -1 || b.Shuffle > 2 {
		return nil, fmt.Errorf("%w: blosc: shuffle %d is not within -1 to 2", codec.ErrConfiguration, b.Shuffle)
	}
	if b.Size < 0 || b.Size > 255 {
		return nil, fmt.Errorf("%w: blosc: typesize %d is not within 1 to 255", codec.ErrConfiguration, b.Size)
	}
	return b, b.make()
}

// blosc is the codec "blosc" of format 2. Bind sets the size of its elements.
type blosc struct {
	CName     string    `json:"cname"`
	Level     codec.Int `json:"clevel"`
	Shuffle   codec.Int `json:"shuffle"`
	BlockSize codec.Int `json:"blocksize"`
	Size      codec.Int `json:"typesize"`
	codec.BytesBytes
}

// make makes the codec "blosc". The default element size is 1.
func (b *blosc) make() error {
	size, names := max(1, b.Size), [...]string{"noshuffle", "shuffle", "bitshuffle"}
	kind := b.Shuffle
	if kind == -1 {
		// Shuffling the bytes of one-byte elements would change nothing.
		if kind = 1; size == 1 {
			kind = 2
		}
	}
	c, err := codec.Default.New(metadata.Extension{Name: "blosc", Configuration: fmt.Appendf(nil,
		`{"cname":%q,"clevel":%d,"shuffle":%q,"typesize":%d,"blocksize":%d}`, b.CName, b.Level, names[kind], size, b.BlockSize)})
	if err != nil {
		return err
	}
	made, ok := c.(codec.BytesBytes)
	if !ok {
		return fmt.Errorf("%w: the codec \"blosc\" is a %T", codec.ErrUnsupported, c)
	}
	b.BytesBytes = made
	return nil
}

// Bind implements [codec.Binder]. The size of elements affects encoding only. To decode,
// a frame is enough.
func (b *blosc) Bind(spec codec.Spec) error {
	// A typesize in the configuration takes precedence. A frame has one byte for the
	// size.
	if b.Size != 0 || spec.Type.Size() == 0 || spec.Type.Size() > 255 {
		return nil
	}
	b.Size = codec.Int(spec.Type.Size())
	return b.make()
}
