// Package codectest makes the contract of package codec true: a suite for codecs of all
// three kinds.
//
//	func TestCodec(t *testing.T) { codectest.Run(t, newCodec, nil) }
//	func FuzzCodec(f *testing.F) { codectest.Fuzz(f, newCodec) }
//
// where newCodec makes a codec that has not been bound. [Test] is the same without
// package testing.
//
// What the suite wants of bytes that come back: all of them, and no more. It decodes with
// just the room that they need and with a byte less, with bytes missing, following and
// altered, and a short form of many bytes, which must not take memory.
package codectest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/racing"
)

// Options say what is true of a codec beyond the contract. A nil *Options is the zero
// Options.
type Options struct {
	// Checksum: the encoded form has a checksum, so that no altered bytes decode to wrong
	// data.
	Checksum bool
	// Unframed: the encoded form has no end of its own, so that the codec cannot see that
	// bytes are missing or too many.
	Unframed bool
	// Lossy: decoded values may differ from those that were encoded.
	Lossy bool
	// Multiple: a bytes-to-bytes codec takes multiples of so many bytes, and refuses to
	// encode others. 0 stands for 1.
	Multiple int
	// Largest: the most bytes of an input of a bytes-to-bytes codec that is too slow for
	// the suite, which is some 10 MB/s. 0 stands for 1 MiB.
	Largest int
	// Memory: the bytes that decoding takes however few it decodes to, of a codec on a
	// library that keeps nothing between calls.
	Memory int
	// Cuts: the encoded form has a shape of its own, and is cut or padded to the one that
	// it is decoded as.
	Cuts bool
	// Specs are the arrays that an array-to-array or array-to-bytes codec has to take,
	// and the first of them is what a [codec.Binder] is bound to. Nil means several of
	// every rank up to 4.
	Specs []codec.Spec
}

// check is one demand of the contract.
type check struct {
	name string
	run  func() error
}

// Run runs the suite, with a subtest for each demand. Under the race detector it skips
// what one goroutine does very often, above all with damaged bytes: test without it as
// well.
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

// Test runs the suite and returns the failures, joined: at most one for each demand.
func Test(newCodec func() any, o *Options) error {
	var errs []error
	for _, c := range checks(newCodec, o) {
		if err := c.safely(); err != nil {
			errs = append(errs, fmt.Errorf("codectest: %s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

// isLong reports whether one goroutine codes very often.
func (c check) isLong() bool {
	return slices.Contains([]string{"append", "bomb", "damage", "deterministic", "garbage", "limit", "trailing", "trim", "truncated"}, c.name)
}

// safely runs the check; a panic is a failure.
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

// bind binds a bytes-to-bytes codec that wants to be.
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
