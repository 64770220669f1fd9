package numcodecs

import (
	"fmt"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

func init() { register("lzma", newLZMA) }

// LZMA returns the metadata of numcodecs.lzma with an .xz file for each chunk. The
// preset, 0 to 9, is the effort; beyond 6 it takes much memory. Further members, for
// other containers and filters, are those of the module lzma of Python. Reading and
// writing take an import of varve.dev/zarr/codec/extra.
func LZMA(preset int) metadata.Extension { return extension("lzma", `{"preset":%d}`, preset) }

var lzmaFactory atomic.Pointer[codec.Factory]

// ProvideLZMA makes f make the codecs numcodecs.lzma, in place of an earlier one. It gets
// configurations whose preset and filters are not null.
func ProvideLZMA(f codec.Factory) { lzmaFactory.Store(&f) }

func newLZMA(configuration []byte) (any, error) {
	f := lzmaFactory.Load()
	if f == nil {
		return nil, fmt.Errorf("%w: %q takes a library that few programs need; import varve.dev/zarr/codec/extra", codec.ErrUnsupported, prefix+"lzma")
	}
	return (*f)(withoutNulls(configuration, []string{"preset", "filters"}))
}
