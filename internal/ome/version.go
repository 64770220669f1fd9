// SPDX-License-Identifier: Apache-2.0

package ome

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Metadata of OME-Zarr are the same members in versions 0.4 and 0.5. Version 0.4, of
// format 2, has them among the attributes of a group, with a version in each. Version
// 0.5, of format 3, has them in the attribute ome, with one version beside them.
const (
	ofFormat2 = "0.4"
	ofFormat3 = "0.5"
)

// versioned are the members with a version of their own in version 0.4. Those of
// multiscales are in its entries.
var versioned = []string{"plate", "well", "image-label"}

// Version returns the version of OME-Zarr that the attributes of a group called name
// tell. It is "" if they tell none, as for labels, series and omero. What is of version
// 0.5 already, as an interrupted conversion leaves it, counts for 0.4.
func Version(attributes []byte, name string) string {
	_, version := membersOf(attributes, name)
	var nested struct{ OME struct{ Version string } }
	if version == "" && json.Unmarshal(attributes, &nested) == nil {
		version = nested.OME.Version
	}
	if version == ofFormat3 {
		return ofFormat2
	}
	return version
}

// Moved returns the attributes of a group called name, whose metadata of OME-Zarr are
// moved to the version of another format of Zarr, and a note on what becomes of them. The
// note is "" for a group without such metadata. around is the version of the image around
// them, which counts if they tell none. Metadata of other versions, or of one that is not
// known, stay where they are. Values keep their spelling.
func Moved(attributes []byte, name, around string, format int) (moved []byte, note string, err error) {
	if v, err := strictjson.Parse(attributes, strictjson.Limits{Size: int64(len(attributes))}); err != nil || v.Kind() != strictjson.Object {
		return attributes, "", nil // none, or null
	}
	if format == 2 {
		return nested(attributes)
	}
	members, version := membersOf(attributes, name)
	if len(members) == 0 {
		return attributes, "", nil
	}
	version = cmp.Or(version, around, "of unknown version")
	if _, ok, err := metadata.Attribute(attributes, "ome"); ok || err != nil || version != ofFormat2 {
		return attributes, fmt.Sprintf(`the metadata of OME-Zarr %s stay as they are: readers of format 3 expect version 0.5 in the attribute "ome"`, version), err
	}
	ome := []byte(`{"version":"` + ofFormat3 + `"}`)
	moved = attributes
	for _, m := range members {
		value, _, err := metadata.Attribute(attributes, m)
		switch {
		case err != nil:
		case m == "multiscales":
			value, err = eachEntry(value, func(entry []byte) ([]byte, error) { return metadata.UnsetAttribute(entry, "version") })
		case m == "plate":
			value, err = metadata.SetAttribute(value, "version", []byte(`"`+ofFormat3+`"`))
		case slices.Contains(versioned, m):
			if _, ok, _ := metadata.Attribute(value, "version"); ok {
				value, err = metadata.SetAttribute(value, "version", []byte(`"`+ofFormat3+`"`))
			}
		}
		if err == nil {
			ome, err = metadata.SetAttribute(ome, m, value)
		}
		if err == nil {
			moved, err = metadata.UnsetAttribute(moved, m)
		}
		if err != nil {
			return nil, "", err
		}
	}
	moved, err = metadata.SetAttribute(moved, "ome", ome)
	return moved, `the metadata of OME-Zarr 0.4 become those of version 0.5, in the attribute "ome"`, err
}

// nested moves the members of the attribute ome among the attributes.
func nested(attributes []byte) (moved []byte, note string, err error) {
	ome, ok, err := metadata.Attribute(attributes, "ome")
	v, bad := strictjson.Parse(ome, strictjson.Limits{Size: int64(len(ome))})
	if !ok || err != nil || bad != nil || v.Kind() != strictjson.Object {
		return attributes, "", err
	}
	version, kept := ofFormat3, false
	if of, ok := v.Member("version"); ok {
		version, _ = of.Str()
	}
	moved, err = metadata.UnsetAttribute(attributes, "ome")
	for name, m := range v.Members() {
		value := m.Raw()
		_, taken, _ := metadata.Attribute(attributes, name)
		kept = kept || taken
		switch {
		case name == "version" || err != nil:
			continue
		case name == "multiscales":
			value, err = eachEntry(value, setOld)
		case slices.Contains(versioned, name):
			value, err = setOld(value)
		}
		if err == nil {
			moved, err = metadata.SetAttribute(moved, name, value)
		}
	}
	if err != nil || kept || version != ofFormat3 {
		return attributes, fmt.Sprintf(`the metadata of OME-Zarr %s stay in the attribute "ome": readers of format 2 expect version 0.4 among the attributes`, version), nil
	}
	return moved, "the metadata of OME-Zarr 0.5 become those of version 0.4, among the attributes", nil
}

// setOld sets the version of a member to that of format 2.
func setOld(object []byte) ([]byte, error) {
	return metadata.SetAttribute(object, "version", []byte(`"`+ofFormat2+`"`))
}

// eachEntry returns a list of objects with each of them changed.
func eachEntry(list []byte, change func(entry []byte) ([]byte, error)) ([]byte, error) {
	v, err := strictjson.Parse(list, strictjson.Limits{Size: int64(len(list))})
	if err != nil {
		return nil, err
	}
	out := []byte{'['}
	for i, e := range v.Elements() {
		entry, err := change(e.Raw())
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, entry...)
	}
	return append(out, ']'), nil
}

// membersOf returns the members of OME-Zarr among the attributes of a group called name,
// in their order, and the version that they tell. It is optional for an image in 0.4, and
// the form of the axes tells it from earlier ones.
func membersOf(attributes []byte, name string) (members []string, version string) {
	v, err := strictjson.Parse(attributes, strictjson.Limits{Size: int64(len(attributes))})
	if err != nil {
		return nil, ""
	}
	images := false
	for member, value := range v.Members() {
		raw := bytes.TrimSpace(value.Raw())
		var of struct{ Version string }
		switch member {
		case "multiscales":
			var list []struct {
				Version  string
				Axes     []struct{ Name string }
				Datasets []json.RawMessage
			}
			err := json.Unmarshal(raw, &list)
			if raw[0] != '[' || len(list) == 0 || list[0].Datasets == nil {
				continue // of another convention
			}
			images = true
			for _, image := range list {
				switch of.Version = image.Version; {
				case of.Version != "":
				case err != nil || len(image.Axes) == 0:
					of.Version = "before 0.4"
				default:
					of.Version = ofFormat2
				}
				if of.Version != ofFormat2 {
					break
				}
			}
		case "plate", "well", "image-label":
			if raw[0] != '{' || json.Unmarshal(raw, &of) != nil {
				continue
			}
		case "labels":
			if raw[0] != '[' || name != "labels" {
				continue
			}
		case "series":
			if raw[0] != '[' || name != "OME" {
				continue
			}
		case "omero", "bioformats2raw.layout":
		default:
			continue
		}
		if members = append(members, member); of.Version != "" && (version == "" || of.Version != ofFormat2) {
			version = of.Version
		}
	}
	if len(members) == 1 && members[0] == "omero" && !images {
		return nil, "" // an attribute of another program
	}
	return members, version
}
