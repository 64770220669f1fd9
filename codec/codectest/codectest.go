// Package codectest is a test suite for codecs. It tests array-to-array, array-to-bytes
// and bytes-to-bytes codecs against the contracts of package codec.
//
//	func TestCodec(t *testing.T) { codectest.Run(t, newCodec, nil) }
//	func FuzzCodec(f *testing.F) { codectest.Fuzz(f, newCodec) }
//
// newCodec returns a codec that is not bound. [Test] runs the same suite without package
// testing.
//
// The suite decodes with exactly the capacity that the bytes need and with one byte less.
// It decodes with bytes missing, added and altered. It also decodes a bomb, a short form
// of very many bytes, which must not allocate memory for them.
package codectest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/racing"
)

// Options describe a codec beyond the contract. A nil *Options is the zero Options.
type Options struct {
	// Checksum says that the encoded form has a checksum, so that altered bytes never
	// decode to wrong data.
	Checksum bool
	// Unframed says that the encoded form does not contain its length, so that the codec
	// cannot detect missing or extra bytes.
	Unframed bool
	// Lossy says that decoded values may differ from those that were encoded.
	Lossy bool
	// Multiple says that a bytes-to-bytes codec encodes only multiples of so many bytes.
	// 0 means 1.
	Multiple int
	// Largest limits the input of a bytes-to-bytes codec in bytes, for codecs slower than
	// about 10 MB/s. 0 means 1 MiB.
	Largest int
	// Memory is how many bytes each decoding allocates even for few bytes, for codecs
	// whose library reuses nothing.
	Memory int
	// Cuts says that the encoded form contains its shape, and is clipped or padded to the
	// shape that it is decoded as.
	Cuts bool
	// Specs are the arrays to test array-to-array and array-to-bytes codecs with. A
	// [codec.Binder] is bound to the first. Nil means several of every rank up to 4.
	Specs []codec.Spec
}

// check tests one requirement of the contract.
type check struct {
	name string
	run  func() error
}

// Run runs the suite, with a subtest for each requirement. Under the race detector it
// skips long checks that use one goroutine, such as those with damaged bytes. Run the
// tests without it, too.
func Run(t *testing.T, newCodec func() any, o *Options) {
	t.Helper()
	for _, c := range checks(newCodec, o) {
		t.Run(c.name, func(t *testing.T) {
			if c.isLong() {
				racing.Skip(t)
			}
			if err := c.safely(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Test runs the suite and returns the failures, joined, at most one for each requirement.
func Test(newCodec func() any, o *Options) error {
	var errs []error
	for _, c := range checks(newCodec, o) {
		if err := c.safely(); err != nil {
			errs = append(errs, fmt.Errorf("codectest: %s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

// isLong reports whether the check codes many times in one goroutine.
func (c check) isLong() bool {
	return slices.Contains([]string{"append", "bomb", "damage", "deterministic", "garbage", "limit", "trailing", "trim", "truncated"}, c.name)
}

// safely runs the check, and turns a panic into a failure.
func (c check) safely() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.run()
}

func checks(newCodec func() any, o *Options) []check {
	if o == nil {
		o = new(Options)
	}
	switch c := newCodec().(type) {
	case codec.BytesBytes:
		if err := bind(c, o); err != nil {
			return []check{{"bind", func() error { return err }}}
		}
		return bytesBytesChecks(c, o)
	case codec.ArrayBytes:
		return eachSpec(o, func(s codec.Spec) error { return checkArrayBytes(newCodec, s, o) })
	case codec.ArrayArray:
		return eachSpec(o, func(s codec.Spec) error { return checkArrayArray(newCodec, s, o) })
	default:
		return []check{{"kind", func() error { return fmt.Errorf("%T is no codec of any kind", c) }}}
	}
}

// bind binds a bytes-to-bytes codec that is a Binder.
func bind(c codec.BytesBytes, o *Options) error {
	if b, ok := c.(codec.Binder); ok {
		return b.Bind(specs(o)[0])
	}
	return nil
}

func eachSpec(o *Options, run func(codec.Spec) error) []check {
	var list []check
	for _, s := range specs(o) {
		name := fmt.Sprintf("%s/rank=%d", s.Type.Name(), s.Rank)
		list = append(list, check{name, func() error { return run(s) }})
	}
	return list
}
