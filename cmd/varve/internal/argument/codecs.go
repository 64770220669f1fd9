// SPDX-License-Identifier: Apache-2.0

package argument

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Codecs parses a list of codecs as in metadata.
func Codecs(text string) ([]metadata.Extension, error) {
	list, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err == nil && (list.Kind() != strictjson.Array || list.Len() == 0) {
		err = list.Errorf("expected a list of at least one codec")
	}
	if err != nil {
		return nil, err
	}
	var chain []metadata.Extension
	for _, v := range list.Elements() {
		e, err := metadata.ParseExtension(v.Raw(), metadata.Limits{})
		if err != nil {
			return nil, failure.AsUnsupported(fmt.Errorf("codec %s: %w", v.Pointer(), err))
		}
		// Refuse a misspelled codec here, where its name can be corrected.
		if names := codec.Default.Names(); !slices.Contains(names, e.Name) {
			return nil, failure.Unsupported("codec %q is unknown%s", e.Name, spelling.Meant(e.Name, names))
		}
		chain = append(chain, metadata.Extension{Name: e.Name, Configuration: e.Configuration, Optional: e.Optional})
	}
	return chain, nil
}

// CodecsMeant returns a hint for a text that is not a list of codecs: the flag for a
// compressor, or an example of a list.
func CodecsMeant(text string) string {
	if CheckCompressor(text) == nil {
		return fmt.Sprintf(" (did you mean --compressor %s?)", text)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return ""
	}
	return ` (write a list, as '["bytes","zstd"]')`
}

// gzipLevel is the level of --compressor gzip, zarr-python's default.
const gzipLevel = 5

// adaptiveLevel is the level of --compressor auto: blosc's default.
const adaptiveLevel = 5

// IsAdaptive reports whether a compressor chooses its settings for each chunk.
func IsAdaptive(text string) bool { return text == "auto" }

// CheckCompressor returns an error if text is not a compressor.
func CheckCompressor(text string) error {
	_, err := Compressor(text, dtype.Uint8)
	return err
}

// Compressor returns the codec for a name and a level, for elements of a data type. It
// returns none for "none".
func Compressor(text string, t dtype.Type) ([]metadata.Extension, error) {
	name, parameter, given := strings.Cut(text, ":")
	if name == "zstd" {
		e, err := zstandard(parameter, given)
		return []metadata.Extension{e}, err
	}
	level, err := parseLevel(parameter, given)
	if err != nil {
		return nil, err
	}
	switch {
	case name == "gzip" && given:
		return []metadata.Extension{codec.Gzip(level)}, nil
	case name == "gzip":
		return []metadata.Extension{codec.Gzip(gzipLevel)}, nil
	case IsAdaptive(text) && t.Variable(): // text is not shuffled
		return []metadata.Extension{codec.Zstd(0)}, nil
	case IsAdaptive(text):
		return []metadata.Extension{codec.Blosc(codec.BloscOptions{Level: adaptiveLevel, Element: max(1, t.Size())})}, nil
	case text == "none":
		return nil, nil
	}
	return nil, fmt.Errorf("it must be zstd:LEVEL, gzip:LEVEL, auto or none%s; --codecs takes any chain", spelling.Meant(name, []string{"zstd", "gzip", "auto", "none"}))
}

// zstandard returns zstd with a level, with "checksum" or "nochecksum", or with both.
// Without a word on checksums, the format decides.
func zstandard(parameters string, given bool) (metadata.Extension, error) {
	text, sum, both := strings.Cut(parameters, ":")
	if !both && strings.HasSuffix(text, checksum) {
		text, sum, given = "", text, false
	}
	level, err := parseLevel(text, given)
	switch {
	case err != nil:
		return metadata.Extension{}, err
	case sum == checksum, sum == "no"+checksum:
		return codec.ZstdChecksum(level, sum == checksum), nil
	case sum != "" || both:
		return metadata.Extension{}, fmt.Errorf("after the level comes checksum or nochecksum%s", spelling.Meant(sum, []string{checksum, "no" + checksum}))
	}
	return codec.Zstd(level), nil
}

const checksum = "checksum"

// parseLevel parses the level of a compressor. It is 0 if none is given.
func parseLevel(text string, given bool) (int, error) {
	if !given {
		return 0, nil
	}
	level, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New("the level is not a whole number")
	}
	return level, nil
}

// ChunkGrid parses a chunk_grid object. It also accepts the form of ZEP 3's draft.
func ChunkGrid(text string) (metadata.Extension, error) {
	e, err := metadata.ParseChunkGrid([]byte(text), metadata.Limits{})
	return e, failure.AsUnsupported(err)
}

// ChunkGridMeant returns the chunk_grid object for a text that has only lengths, and an
// example for any other text.
func ChunkGridMeant(text string) string {
	lengths, err := ParseShape(strings.Trim(text, "[]() "))
	switch {
	case err == nil && len(lengths) > 0:
		return fmt.Sprintf(` (did you mean '{"name":"regular","configuration":{"chunk_shape":%s}}'?)`, output.Text(lengths))
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return ""
	}
	return ` (write the whole object, as '{"name":"regular","configuration":{"chunk_shape":[10,20]}}')`
}

// KeyEncoding parses a chunk key encoding: a name followed by a separator.
func KeyEncoding(text string) (metadata.KeyEncoding, error) {
	for _, e := range []metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash} {
		if text == e.Name()+string(e.Separator()) {
			return e, nil
		}
	}
	return 0, errors.New("only default/, default., v2. and v2/ are known")
}
