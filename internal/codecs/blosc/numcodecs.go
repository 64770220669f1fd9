// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"fmt"

	"varve.dev/zarr/codec"
)

// shuffles has the names of numcodecs' numbers from -1 on.
var shuffles = []string{"auto", "noshuffle", "shuffle", "bitshuffle"}

// NewNumcodecs is the [codec.Factory] for configurations of numcodecs. They name filters
// by number: 0 is none, 1 shuffle, 2 bitshuffle, and -1 chooses by the element size. It
// returns what [New] does. The defaults are "lz4", level 5, shuffle 1, automatic blocks,
// and elements of one byte.
func NewNumcodecs(raw []byte) (any, error) {
	c := struct {
		ID         string    `json:"id"`
		Compressor string    `json:"cname"`
		Level      codec.Int `json:"clevel"`
		Shuffle    codec.Int `json:"shuffle"`
		Block      codec.Int `json:"blocksize"`
		Element    codec.Int `json:"typesize"`
	}{"blosc", "lz4", 5, 1, 0, 1}
	if err := codec.DecodeConfiguration(raw, &c); err != nil {
		return nil, fmt.Errorf("%w: blosc: %w", codec.ErrConfiguration, err)
	}
	if c.Shuffle < -1 || c.Shuffle > 2 {
		return nil, invalid("shuffle %d is not within -1 to 2", c.Shuffle)
	}
	if c.ID != "blosc" {
		return nil, invalid("the codec is called %q", c.ID)
	}
	if c.Element < 1 {
		return nil, invalid("typesize %d is less than 1", c.Element)
	}
	shuffle := shuffles[c.Shuffle+1]
	if shuffle == "auto" {
		shuffle = automatic(c.Element)
	}
	return configuration{c.Element, c.Compressor, c.Level, shuffle, c.Block}.coder()
}
