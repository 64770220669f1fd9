// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/cf"
)

// decodeTo fills dst with the decoded elements of src.
func decodeTo(d *cf.Decoding, dst *Values, src Values) {
	n := src.Len()
	dst.Type = d.Type()
	dst.Grow(n)
	if !dst.Type.Variable() {
		d.Decode(dst.Data, src.Data)
		return
	}
	for i := range n {
		dst.Words[i] = []byte(d.DecodeText(src.At(i)))
	}
}

// errUnsaid ends the search for a time that datetime64 cannot represent.
var errUnsaid = errors.New("datetime64 cannot represent the time")

// Settle reads the times of a source. If datetime64 cannot represent one of them, it
// makes all of them text. Call it before the type of the output is used.
func (s *Source) Settle(ctx context.Context) error {
	if s.Decoding == nil || !s.Decoding.MayOverflow() {
		return nil
	}
	err := s.Undecoded().Blocks(ctx, func(e Values) error {
		if !s.Decoding.Fits(e.Data) {
			return errUnsaid
		}
		return ctx.Err()
	})
	if errors.Is(err, errUnsaid) {
		return s.BecomeText()
	}
	return err
}

// Undecoded returns a source of the same elements without decoding.
func (s *Source) Undecoded() *Source {
	stored := *s
	stored.Decoding, stored.Type = nil, s.Stored
	return &stored
}

// BecomeText changes the output of times to text.
func (s *Source) BecomeText() error {
	s.Decoding = s.Decoding.AsText()
	s.Type = s.Decoding.Type()
	s.measure()
	return nil
}
