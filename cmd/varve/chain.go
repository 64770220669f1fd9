package main

import (
	"errors"
	"strconv"
	"strings"

	zarrbytes "varve.dev/zarr/codec/bytes"
	"varve.dev/zarr/codec/gzip"
	"varve.dev/zarr/codec/zstd"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// chain returns the codecs that --codecs or --compressor ask for, nil for the library's choice.
func (c *creation) chain(t dtype.Type) ([]metadata.Extension, error) {
	switch {
	case c.codecs != "":
		return parseCodecs(c.codecs)
	case c.compressor != "":
		return compressed(t, c.compressor)
	}
	return nil, nil
}

// parseCodecs reads a chain as metadata has it.
func parseCodecs(text string) ([]metadata.Extension, error) {
	list, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err == nil && (list.Kind() != strictjson.Array || list.Len() == 0) {
		err = list.Errorf("a list of at least one codec is needed")
	}
	if err != nil {
		return nil, badArgument("--codecs: %w", err)
	}
	var chain []metadata.Extension
	for _, v := range list.Elements() {
		e, err := metadata.ParseExtension(v.Raw(), metadata.Limits{})
		if err != nil {
			return nil, badArgument("--codecs%s: %w", v.Pointer(), err)
		}
		chain = append(chain, metadata.Extension{Name: e.Name, Configuration: e.Configuration, Optional: e.Optional})
	}
	return chain, nil
}

// compressed returns the codec bytes and a compressor: zstd:3, gzip:5 or none.
func compressed(t dtype.Type, text string) ([]metadata.Extension, error) {
	order := ""
	if t.Unit() > 1 {
		order = "little"
	}
	chain := []metadata.Extension{zarrbytes.Extension(order)}
	name, parameter, given := strings.Cut(text, ":")
	level, err := strconv.Atoi(parameter)
	if given && err != nil {
		return nil, badArgument("--compressor %q: the level is no whole number", text)
	}
	switch {
	case name == "zstd":
		return append(chain, zstd.Extension(level, false)), nil
	case name == "gzip":
		if !given {
			level = gzipLevel
		}
		return append(chain, gzip.Extension(level)), nil
	case text == "none":
		return chain, nil
	}
	return nil, unsupported("--compressor %q is not supported, only zstd:LEVEL, gzip:LEVEL and none; --codecs takes any chain", text)
}

// gzipLevel is what --compressor gzip stands for: zarr-python's default.
const gzipLevel = 5

// badOrUnsupported returns an error for a flag whose value is malformed or asks for what is not known here.
func badOrUnsupported(flag, value string, err error) error {
	if errors.Is(err, dtype.ErrUnsupported) {
		return unsupported("%s %s: %w", flag, value, err)
	}
	return badArgument("%s %s: %w", flag, value, err)
}
