// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/metadata"
)

func TestDefaultRegistry(t *testing.T) {
	names := codec.Default.Names()
	for _, want := range []string{"bytes", "crc32c", "gzip", "transpose", "zstd"} {
		if !slices.Contains(names, want) {
			t.Errorf("%q is not registered in %q", want, names)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("names %q are not in order", names)
	}
}

func TestRegistryNew(t *testing.T) {
	r := new(codec.Registry)
	r.Register("x-test", func(configuration []byte) (any, error) {
		if configuration == nil {
			return nil, codec.ErrConfiguration
		}
		return string(configuration), nil
	})
	if c, err := r.New(metadata.Extension{Name: "x-test", Configuration: []byte(`{}`)}); err != nil || c != "{}" {
		t.Errorf("New: %v, %v", c, err)
	}
	_, err := r.New(metadata.Extension{Name: "x-test"})
	if !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("refused configuration: %v", err)
	}
	_, err = r.New(metadata.Extension{Name: "x-none", Optional: true})
	if !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), `"x-none"`) {
		t.Errorf("unknown name: %v", err)
	}
}

func TestRegisterTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two codecs under one name")
		}
	}()
	r := new(codec.Registry)
	for range 2 {
		r.Register("x-test", func([]byte) (any, error) { return nil, nil })
	}
}
