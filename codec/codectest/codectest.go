// SPDX-License-Identifier: Apache-2.0

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
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/racing"
)

// A panic for damaged bytes is a failure, also where a chain would make it an error.
func init() { parallel.Crash.Store(true) }

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
		return []check{{"kind", func() error { return fmt.Errorf("%T is not a codec of any kind", c) }}}
	}
}
