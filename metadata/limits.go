package metadata

import "varve.dev/zarr/internal/strictjson"

// Limits bounds what is read and written. A field that is not positive has its default.
type Limits struct {
	// Document is the most bytes of a document, consolidated metadata included; by default 64 MiB.
	Document int64
	// Depth is how deep JSON may be nested; by default 64.
	Depth int
	// Rank is the most dimensions of an array; by default 64.
	Rank int
}

const (
	defaultRank = 64
	// maxChain bounds codecs and storage transformers, which take more memory than their JSON.
	maxChain = 256
)

func (l Limits) json() strictjson.Limits { return strictjson.Limits{Size: l.Document, Depth: l.Depth} }

// consolidated is json for a document whose consolidated metadata stands at the pointer: what is listed twice there is refused on its own.
func (l Limits) consolidated(pointer string) strictjson.Limits {
	j := l.json()
	j.Repeated = pointer
	return j
}

func (l Limits) rank() int {
	if l.Rank <= 0 {
		return defaultRank
	}
	return l.Rank
}
