package extra

import (
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"varve.dev/zarr/codec/numcodecs"
)

// aloneHeader is the number of bytes that the library writes before an LZMA stream.
const aloneHeader = 13

// encodeLZMA is a [numcodecs.LZMAEncoder]. Of all that a preset says it takes the size of the dictionary: the library has another
// way to search for matches, in a tree, which takes hours for a chunk of zeros, and writes streams for it that do not decode.
func encodeLZMA(dst, src []byte, s numcodecs.LZMAStream) ([]byte, error) {
	properties := &lzma.Properties{LC: s.LC, LP: s.LP, PB: s.PB}
	to := &sink{dst}
	var w io.WriteCloser
	var err error
	if s.Chunked {
		w, err = lzma.Writer2Config{Properties: properties, DictCap: s.Dictionary}.NewWriter2(to)
	} else {
		w, err = lzma.WriterConfig{Properties: properties, DictCap: s.Dictionary}.NewWriter(to)
	}
	if err == nil {
		_, err = w.Write(src)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("lzma: %w", err)
	}
	if s.Chunked {
		return to.out, nil
	}
	n := len(dst)
	return append(to.out[:n], to.out[n+aloneHeader:]...), nil
}
