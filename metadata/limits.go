// SPDX-License-Identifier: Apache-2.0

package metadata

import "varve.dev/zarr/internal/strictjson"

// Limits bounds what is read and written. A field that is not positive stands for the
// default.
type Limits struct {
	// Document is the largest size of a document in bytes, including consolidated
	// metadata. The default is 64 MiB.
	Document int64
	// Depth is the largest depth of nested JSON. The default is 64.
	Depth int
	// Rank is the largest number of dimensions of an array. The default is 64.
	Rank int
}

const (
	defaultRank = 64
	// maxChain bounds the number of codecs and of storage transformers, which take more
	// memory than their JSON.
	maxChain = 256
	// maxName bounds the bytes of a name of an extension. Names are quoted in messages,
	// in one for each place that adds where it is, so that a name of many megabytes would
	// take a multiple of the document.
	maxName = 256
	// maxText bounds the bytes of a text within a configuration, and of the name of a
	// member that the specification does not name, for the same reason. Configurations
	// themselves may be long: they have lists of chunk sizes.
	maxText = 64 << 10
)

func (l Limits) json() strictjson.Limits { return strictjson.Limits{Size: l.Document, Depth: l.Depth} }

// consolidatedEntries is the pointer of the entries of consolidated metadata in format 3.
const consolidatedEntries = "/consolidated_metadata/metadata"

// consolidated returns the limits for a document with consolidated metadata at pointer.
// Names that are repeated there do not make the document invalid: such entries are
// refused one by one.
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
