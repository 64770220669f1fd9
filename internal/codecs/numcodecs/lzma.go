// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"fmt"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

func init() { register("lzma", newLZMA) }

// LZMA returns the metadata of numcodecs.lzma, which stores an .xz file. The preset, 0 to
// 9, is the effort; above 6 it takes much memory. Other containers and filters have the
// members of Python's module lzma. Reading and writing require an import of
// varve.dev/zarr/codec/extra.
func LZMA(preset int) metadata.Extension { return extension("lzma", `{"preset":%d}`, preset) }

var lzmaFactory atomic.Pointer[codec.Factory]

// ProvideLZMA sets the factory of numcodecs.lzma. It replaces an earlier one. f gets
// configurations whose preset and filters are not null.
func ProvideLZMA(f codec.Factory) { lzmaFactory.Store(&f) }

func newLZMA(configuration []byte) (any, error) {
	f := lzmaFactory.Load()
	if f == nil {
		return nil, fmt.Errorf("%w: %q needs a library that few programs use; import varve.dev/zarr/codec/extra", codec.ErrUnsupported, prefix+"lzma")
	}
	return (*f)(codec.WithoutNulls(configuration, "preset", "filters"))
}
