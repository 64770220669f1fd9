// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"sync"

	"varve.dev/zarr/codec"
)

func bytesBytesChecks(c codec.BytesBytes, o *Options) []check {
	all := inputs(o)
	with := func(f func(pair) error) func() error { return func() error { return forEach(c, all, f) } }
	list := []check{
		{"bounds", func() error { return bounds(c) }},
		{"round trip", with(roundTrip)},
		{"deterministic", with(deterministic)},
		{"append", with(appends)},
		{"limit", with(limited)},
		{"bomb", func() error { return bomb(c, o) }},
		{"concurrent", func() error {
			return concurrent(func() error { return forEach(c, all[:min(concurrentInputs, len(all))], roundTrip) })
		}},
		{"garbage", func() error { return garbage(c) }},
		{"damage", with(func(p pair) error { return p.damaged(o.Checksum) })},
	}
	if !o.Unframed {
		list = append(list, check{"truncated", with(truncated)}, check{"trailing", with(trailing)})
	}
	if t, ok := c.(codec.Trimmer); ok {
		list = append(list, check{"trim", with(func(p pair) error { return p.trimmed(t) })})
	}
	if o.Multiple > 1 {
		list = append(list, check{"multiple", func() error { return odd(c, o.Multiple) }})
	}
	return list
}

// bounds checks that MaxEncoded grows with n, and does not overflow for lengths that
// exist.
func bounds(c codec.BytesBytes) error {
	last := int64(-1)
	for _, n := range []int64{0, 1, 1 << 31, 1 << 60} {
		most := c.MaxEncoded(n)
		if most < last {
			return fmt.Errorf("MaxEncoded(%d) is %d, less than for fewer bytes", n, most)
		}
		last = most
	}
	return nil
}

// odd encodes lengths that are not multiples of what the codec accepts.
func odd(c codec.BytesBytes, multiple int) error {
	for _, n := range []int{1, multiple - 1, 3*multiple + 1} {
		if _, err := c.Encode(nil, zeros(n)); !errors.Is(err, codec.ErrConfiguration) {
			return fmt.Errorf("encoding %d bytes: error is %v, want ErrConfiguration", n, err)
		}
	}
	return nil
}

// pair is an input and its encoded form.
type pair struct {
	c              codec.BytesBytes
	plain, encoded []byte
}

// concurrentInputs is the number of inputs that several goroutines code at once. The
// inputs are the shortest ones.
const concurrentInputs = 21

// forEach calls f with every input and its encoded form, until the first error.
func forEach(c codec.BytesBytes, inputs [][]byte, f func(pair) error) error {
	for i, in := range inputs {
		encoded, err := c.Encode(nil, in)
		if err == nil {
			err = f(pair{c, in, encoded})
		}
		if err != nil {
			return fmt.Errorf("input %d of %d bytes: %w", i, len(in), err)
		}
	}
	return nil
}

// decode decodes into a buffer of exactly the promised capacity.
func (p pair) decode(src []byte, most int) ([]byte, error) {
	return p.c.Decode(make([]byte, 0, most), src, int64(most))
}

func roundTrip(p pair) error {
	if most := p.c.MaxEncoded(int64(len(p.plain))); int64(len(p.encoded)) > most {
		return fmt.Errorf("encodes to %d bytes, MaxEncoded says %d", len(p.encoded), most)
	}
	src := bytes.Clone(p.encoded)
	for _, most := range []int{len(p.plain), len(p.plain) + 100} {
		out, err := p.decode(src, most)
		if err != nil {
			return fmt.Errorf("decoding, most %d: %w", most, err)
		}
		if !bytes.Equal(out, p.plain) {
			return fmt.Errorf("decoding, most %d: got other bytes back", most)
		}
	}
	if !bytes.Equal(src, p.encoded) {
		return errors.New("decoding changes its source")
	}
	return nil
}

func deterministic(p pair) error {
	src := bytes.Clone(p.plain)
	again, err := p.c.Encode(make([]byte, 0, 2*len(p.encoded)), src)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, p.encoded) {
		return errors.New("encoding again gives other bytes")
	}
	if !bytes.Equal(src, p.plain) {
		return errors.New("encoding changes its source")
	}
	return nil
}

const prefix = "kept"

func appends(p pair) error {
	encoded, err := p.c.Encode([]byte(prefix), p.plain)
	if err != nil {
		return err
	}
	if string(encoded) != prefix+string(p.encoded) {
		return errors.New("encoding does not append")
	}
	return p.appendsDecoded()
}

func (p pair) appendsDecoded() error {
	const guard = "not written"
	buf := []byte(prefix + string(zeros(len(p.plain))) + guard)
	out, err := p.c.Decode(buf[:len(prefix)], p.encoded, int64(len(p.plain)))
	if err != nil {
		return err
	}
	if string(out) != prefix+string(p.plain) {
		return errors.New("decoding does not append")
	}
	if string(buf[len(out):]) != guard {
		return errors.New("decoding writes beyond the limit")
	}
	if &out[0] != &buf[0] {
		return errors.New("decoding leaves a buffer that is large enough")
	}
	return nil
}

func limited(p pair) error {
	for _, most := range []int{0, len(p.plain) / 2, len(p.plain) - 1} {
		if most < 0 || most == len(p.plain) {
			continue
		}
		if _, err := p.decode(p.encoded, most); !errors.Is(err, codec.ErrTooLong) {
			return fmt.Errorf("most %d: error is %v, want ErrTooLong", most, err)
		}
	}
	return nil
}

func (p pair) trimmed(t codec.Trimmer) error {
	out, err := t.Trim(p.encoded)
	if err != nil {
		return err
	}
	if !bytes.Equal(out, p.plain) {
		return errors.New("what Trim returns is not the decoded bytes")
	}
	if cap(out) > len(out) {
		return errors.New("appending to what Trim returns overwrites its source")
	}
	for _, n := range places(len(p.encoded)) {
		src := bytes.Clone(p.encoded)
		src[n] ^= 1
		_, trimErr := t.Trim(src)
		if _, err := p.decode(src, len(p.plain)); (err == nil) != (trimErr == nil) {
			return fmt.Errorf("byte %d altered: Decode says %v, Trim %v", n, err, trimErr)
		}
	}
	return nil
}

// concurrent runs f in several goroutines at once and returns one of the errors.
func concurrent(f func() error) error {
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = check{run: f}.safely() })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// bind binds a bytes-to-bytes codec that is a Binder.
func bind(c codec.BytesBytes, o *Options) error {
	if b, ok := c.(codec.Binder); ok {
		return b.Bind(specs(o)[0])
	}
	return nil
}
