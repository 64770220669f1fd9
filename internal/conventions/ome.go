// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// omeRules are rules of OME-Zarr 0.4 and 0.5. What later versions have otherwise, axes in
// coordinate systems and their transformations, is not judged.
var omeRules = []Rule{
	{"ome/version", "OME-Zarr 0.5, metadata", false, `set the member version of ome, such as "0.5"`},
	{"ome/placement", "OME-Zarr 0.5, metadata", false, "convert the node to the other format, which moves the metadata, or move them by hand"},
	{"ome/one-version", "OME-Zarr 0.5, metadata", false, "write the metadata of the node in the version of the groups above it"},
	{"ome/layout", "OME-Zarr, bioformats2raw.layout", false, "set it to 3"},
	{"ome/multiscales", "OME-Zarr, multiscales", false, "write each image with the members axes and datasets"},
	{"ome/axes", "OME-Zarr, axes", false, "name each axis once, with its type"},
	{"ome/axes-order", "OME-Zarr, multiscales", false, "order the axes, and transpose the arrays"},
	{"ome/axis-type", "OME-Zarr, axes", true, "set type and unit, such as micrometer"},
	{"ome/dataset", "OME-Zarr, multiscales", false, "correct the path, or store the level"},
	{"ome/rank", "OME-Zarr, multiscales", false, "describe each dimension by one axis"},
	{"ome/data-type", "OME-Zarr 0.6, multiscales", true, "make the levels anew, with the data type of the first one"},
	{"ome/levels-order", "OME-Zarr, multiscales", false, "order the datasets by their shapes"},
	{"ome/dimension-names", "OME-Zarr 0.5, axes", false, "write dimension_names in the document of the array as the axes have them"},
	{"ome/transformations", "OME-Zarr, multiscales", false, "write a scale for each level, and its translation after it"},
	{"ome/scale", "OME-Zarr 0.6, scale", true, "write the size of a pixel, or 1 if it is not known"},
	{"ome/omero", "OME-Zarr, omero", false, "complete the channels, or remove omero"},
	{"ome/omero-channels", "OME-Zarr, omero", true, "describe all channels"},
	{"ome/labels", "OME-Zarr, labels", false, "correct the path, or remove it from the list"},
	{"ome/label-type", "OME-Zarr, labels", false, "store the labels as integers"},
	{"ome/label-levels", "OME-Zarr, labels", false, "make the levels that are missing"},
	{"ome/label-colors", "OME-Zarr, image-label", false, "correct the entry"},
	{"ome/plate", "OME-Zarr, plate", false, "name each row and each column once, with letters and digits only"},
	{"ome/plate-well", "OME-Zarr, plate", false, "correct path, rowIndex and columnIndex, or store the well"},
	{"ome/acquisition", "OME-Zarr, plate and well", false, "number the acquisitions, and set acquisition in each image of the well"},
	{"ome/well", "OME-Zarr, well", false, "correct the path, or store the image"},
}

// omeMembers are the members by which a group tells that it has metadata of OME-Zarr.
var omeMembers = []string{"multiscales", "plate", "well", "image-label", "bioformats2raw.layout"}

// imaging is the metadata of OME-Zarr of a group.
type imaging struct {
	object
	version string // "" if it is not known
	nested  bool   // in the attribute ome
}

// imagingOf returns the metadata of OME-Zarr of a node. ok is false if it has none.
func (t *Tree) imagingOf(n *node) (m imaging, ok bool) {
	a := t.attributesOf(n)
	if inner, isObject := a["ome"].(object); isObject {
		return imaging{inner, textOf(inner, "version"), true}, true
	}
	m.object = a
	for _, name := range omeMembers {
		of, isObject := a[name].(object)
		if name == "multiscales" {
			list, _ := objects(a[name]) // other conventions have an object of this name
			if len(list) == 0 || list[0]["datasets"] == nil {
				continue
			}
			of, isObject = list[0], true
		}
		ok = ok || isObject || name == "bioformats2raw.layout" && a[name] != nil
		if m.version == "" {
			m.version = textOf(of, "version")
		}
	}
	_, isList := a["labels"].([]any)
	return m, ok || isList && n.name == "labels"
}

// isKnown reports whether the metadata are of the versions whose axes and transformations
// are judged. In version 0.4 the member version may be missing.
func (m imaging) isKnown() bool {
	if m.nested {
		return m.version == "0.5"
	}
	list, _ := objects(m.object["multiscales"])
	if m.version != "" || len(list) == 0 {
		return m.version == "0.4"
	}
	axes, ok := objects(list[0]["axes"])
	return ok && len(axes) > 0 // those of earlier versions are texts
}

// ome asks the rules of OME-Zarr about a node.
func (j *judge) ome() {
	m, ok := j.imagingOf(j.node)
	if j.kind != "group" || !ok {
		return
	}
	switch {
	case m.nested && m.version == "":
		j.broken("version", "the attribute ome has no version")
	case m.nested != (j.format == 3) && (m.nested || m.isKnown()):
		j.broken("placement", "metadata of version %s are in a node of format %d", cmp.Or(m.version, "0.4"), j.format)
	}
	if above, ok := j.imagingOf(j.nodes[0]); ok && above.version != "" && m.version != "" && above.version != m.version {
		j.broken("one-version", "the metadata have version %s, those of the group above %s", m.version, above.version)
	}
	if v := m.object["bioformats2raw.layout"]; v != nil && v != 3.0 {
		j.broken("layout", "bioformats2raw.layout is %v", v)
	}
	j.omeImages(m)
	j.omeLabels(m)
	j.omeColors(m)
	j.omePlate(m)
	j.omeWell(m)
}

// omeImages asks about multiscales.
func (j *judge) omeImages(m imaging) {
	v := m.object["multiscales"]
	if v == nil {
		return
	}
	images, ok := objects(v)
	if !ok || len(images) == 0 {
		j.broken("multiscales", "multiscales is no list of images")
	}
	for i, image := range images {
		levels, ok := objects(image["datasets"])
		if !ok || len(levels) == 0 {
			j.broken("multiscales", "image %d has no list of datasets", i)
		}
		var axes []object
		if m.isKnown() {
			if axes, ok = objects(image["axes"]); !ok || len(axes) == 0 {
				j.broken("multiscales", "image %d has no list of axes", i)
			}
			j.omeAxes(axes)
			if image["coordinateTransformations"] != nil && len(axes) > 0 {
				j.omeTransformations(image, len(axes), "the image")
			}
		}
		arrays := j.omeLevels(m, levels, axes)
		if i == 0 {
			j.omeChannels(m, axes, arrays)
		}
	}
}

// omeAxes asks about the axes of an image.
func (j *judge) omeAxes(axes []object) {
	var names, types []string
	for _, axis := range axes {
		name, of := textOf(axis, "name"), textOf(axis, "type")
		if name == "" || slices.Contains(names, name) {
			j.broken("axes", "an axis has no name, or the name %q of another one", name)
		}
		names, types = append(names, name), append(types, of)
		switch {
		case of == "":
			j.broken("axis-type", "axis %q has no type", name)
		case axis["unit"] == nil && (of == "space" || of == "time"):
			j.broken("axis-type", "axis %q has no unit", name)
		}
	}
	if len(axes) == 0 {
		return
	}
	order := func(of string) int { return map[string]int{"time": 1, "space": 3}[of] }
	count := map[int]int{}
	last, sorted := 0, true
	for _, of := range types {
		place := order(of)
		if place == 0 {
			place = 2 // channels, and axes of other types
		}
		sorted = sorted && place >= last
		last = place
		count[place]++
	}
	if len(axes) > 5 || count[3] < 2 || count[3] > 3 || count[1] > 1 || count[2] > 1 {
		j.broken("axes", "the axes %s have the types %s", strings.Join(names, ", "), strings.Join(types, ", "))
	}
	if !sorted {
		j.broken("axes-order", "the axes have the order %s", strings.Join(names, ", "))
	}
}

// omeLevels asks about the levels of an image, and returns their arrays.
func (j *judge) omeLevels(m imaging, levels, axes []object) (arrays []*node) {
	for _, level := range levels {
		at, isText := level["path"].(string)
		n, judged := j.member(j.path, at)
		if !isText || judged && n == nil || n != nil && n.kind == "group" {
			j.broken("dataset", "the datasets name %.80q, which is no array", level["path"])
		}
		if len(axes) > 0 {
			j.omeTransformations(level, len(axes), at)
		}
		if !isText || n == nil || n.kind != "array" {
			continue
		}
		if len(axes) > 0 && len(n.shape) != len(axes) {
			j.broken("rank", "%s has a shape of rank %d, and the image axes for rank %d", at, len(n.shape), len(axes))
		}
		if m.nested && n.format == 3 && len(n.shape) == len(axes) {
			for i, axis := range axes {
				if len(n.dims) <= i || n.dims[i] != textOf(axis, "name") {
					j.broken("dimension-names", "dimension %d of %s has not the name %q of its axis", i, at, textOf(axis, "name"))
					break
				}
			}
		}
		if len(arrays) > 0 {
			before := arrays[len(arrays)-1]
			if n.typ != before.typ {
				j.broken("data-type", "%s has the data type %s, the level before %s", at, n.typ, before.typ)
			}
			for i := range n.shape {
				if i < len(before.shape) && n.shape[i] > before.shape[i] {
					j.broken("levels-order", "%s has the shape %v, the level before %v", at, n.shape, before.shape)
					break
				}
			}
		}
		arrays = append(arrays, n)
	}
	return arrays
}

// omeTransformations asks about the transformations of a level, or of an image.
func (j *judge) omeTransformations(level object, rank int, at string) {
	list, ok := objects(level["coordinateTransformations"])
	if !ok || len(list) == 0 || len(list) > 2 {
		j.broken("transformations", "%s has no list of a scale and at most one translation", at)
		return
	}
	for i, t := range list {
		of := []string{"scale", "translation"}[i]
		if textOf(t, "type") != of {
			j.broken("transformations", "transformation %d of %s is not of type %s", i, at, of)
			continue
		}
		if _, byPath := t["path"].(string); byPath {
			continue // the numbers are in an array
		}
		values, ok := listOf(t[of], rank)
		if !ok {
			j.broken("transformations", "the %s of %s has not one number for each axis", of, at)
		}
		if of == "scale" && slices.Contains(values, 0) {
			j.broken("scale", "a scale of %s is 0", at)
		}
	}
}

// omeChannels asks about the metadata of the channels of an image.
func (j *judge) omeChannels(m imaging, axes []object, arrays []*node) {
	v := m.object["omero"]
	if v == nil {
		return
	}
	omero, _ := v.(object)
	channels, ok := objects(omero["channels"])
	if !ok {
		j.broken("omero", "omero has no list of channels")
		return
	}
	for i, c := range channels {
		color := textOf(c, "color")
		window, _ := c["window"].(object)
		whole := len(color) == 6 && isMadeOf(color, digits+"abcdefABCDEF")
		for _, name := range []string{"min", "max", "start", "end"} {
			_, isNumber := window[name].(float64)
			whole = whole && isNumber
		}
		if !whole {
			j.broken("omero", "channel %d has not a color of 6 digits and a window of four numbers", i)
		}
	}
	i := slices.IndexFunc(axes, func(axis object) bool { return textOf(axis, "type") == "channel" })
	if i >= 0 && len(arrays) > 0 && i < len(arrays[0].shape) && arrays[0].shape[i] != int64(len(channels)) {
		j.broken("omero-channels", "omero describes channels up to %d, and the axis has the length %d", len(channels), arrays[0].shape[i])
	}
}

// omeLabels asks about the list of the labels of an image.
func (j *judge) omeLabels(m imaging) {
	v := m.object["labels"]
	if v == nil || j.name != "labels" {
		return
	}
	names, ok := texts(v)
	if !ok {
		j.broken("labels", "labels is no list of paths")
	}
	for _, name := range names {
		n, judged := j.member(j.path, name)
		if n == nil && judged {
			j.broken("labels", "labels names %.80q, which is no image here", name)
			continue
		}
		if n == nil || n.kind == "" {
			continue
		}
		if of, ok := j.imagingOf(n); !ok || of.object["multiscales"] == nil {
			j.broken("labels", "labels names %.80q, which has no multiscales", name)
		}
	}
}

// levelsOf returns the levels of the first image that a node describes.
func (t *Tree) levelsOf(n *node) (levels []object) {
	if n == nil {
		return nil
	}
	m, _ := t.imagingOf(n)
	images, _ := objects(m.object["multiscales"])
	if len(images) > 0 {
		levels, _ = objects(images[0]["datasets"])
	}
	return levels
}

// omeColors asks about a label image: its arrays, its levels and its colors.
func (j *judge) omeColors(m imaging) {
	label, isLabel := m.object["image-label"].(object)
	if !isLabel {
		return
	}
	levels := j.levelsOf(j.node)
	for _, level := range levels {
		if n, _ := j.member(j.path, textOf(level, "path")); n != nil && n.kind == "array" && !isInteger(n.typ) {
			j.broken("label-type", "level %s of the labels has the data type %s", n.name, n.typ)
		}
	}
	if group := parent(j.path); path.Base(group) == "labels" {
		if of := j.levelsOf(j.byPath[parent(group)]); len(of) > 0 && len(of) != len(levels) {
			j.broken("label-levels", "the labels have levels up to %d, and the image up to %d", len(levels), len(of))
		}
	}
	for _, name := range []string{"colors", "properties"} {
		list, ok := objects(label[name])
		if label[name] != nil && !ok {
			j.broken("label-colors", "%s is no list of objects", name)
		}
		var seen []float64
		for i, entry := range list {
			value, isNumber := entry["label-value"].(float64)
			whole := isNumber && value == float64(int64(value)) && !(name == "colors" && slices.Contains(seen, value))
			seen = append(seen, value)
			if rgba := entry["rgba"]; rgba != nil && whole {
				values, isColor := listOf(rgba, 4)
				whole = isColor && !slices.ContainsFunc(values, func(f float64) bool { return !isIndex(f) || f > 255 })
			}
			if !whole {
				j.broken("label-colors", "entry %d of %s has no label-value of its own, or an rgba that is no color", i, name)
			}
		}
	}
}

// omePlate asks about the wells of a plate.
func (j *judge) omePlate(m imaging) {
	plate, isPlate := m.object["plate"].(object)
	if !isPlate {
		return
	}
	sides := map[string][]string{}
	for _, side := range []string{"rows", "columns"} {
		list, ok := objects(plate[side])
		if !ok || len(list) == 0 {
			j.broken("plate", "the plate has no list of %s", side)
		}
		for _, one := range list {
			name := textOf(one, "name")
			if !isMadeOf(name, alnum) || slices.Contains(sides[side], name) {
				j.broken("plate", "a name in %s, %.80q, has other characters than letters and digits, or is there twice", side, name)
			}
			sides[side] = append(sides[side], name)
		}
	}
	wells, ok := objects(plate["wells"])
	if !ok {
		j.broken("plate", "the plate has no list of wells")
	}
	for _, well := range wells {
		at := textOf(well, "path")
		row, column, _ := strings.Cut(at, "/")
		whole := true
		for _, side := range []struct{ index, names, name string }{{"rowIndex", "rows", row}, {"columnIndex", "columns", column}} {
			i := slices.Index(sides[side.names], side.name)
			index, isNumber := well[side.index].(float64)
			whole = whole && i >= 0 && isNumber && index == float64(i)
		}
		n, judged := j.member(j.path, at)
		if !whole || judged && n == nil || n != nil && n.kind == "array" {
			j.broken("plate-well", "the well %.80q is no group, or its row and column are not those of its indices", at)
		}
	}
	acquisitions, ok := objects(plate["acquisitions"])
	var ids []any
	for _, a := range acquisitions {
		if ok = ok && isIndex(a["id"]) && !slices.Contains(ids, a["id"]); !ok {
			break
		}
		ids = append(ids, a["id"])
	}
	if !ok && plate["acquisitions"] != nil {
		j.broken("acquisition", "the acquisitions of the plate have no ids of their own")
	}
}

// omeWell asks about the images of a well.
func (j *judge) omeWell(m imaging) {
	well, isWell := m.object["well"].(object)
	if !isWell {
		return
	}
	images, ok := objects(well["images"])
	if !ok || len(images) == 0 {
		j.broken("well", "the well has no list of images")
	}
	var acquisitions []object
	if n := j.byPath[joined(j.path, "../..")]; n != nil && strings.Contains(j.path, "/") {
		of, _ := j.imagingOf(n)
		plate, _ := of.object["plate"].(object)
		acquisitions, _ = objects(plate["acquisitions"])
	}
	for _, image := range images {
		at := textOf(image, "path")
		n, judged := j.member(j.path, at)
		if at == "" || path.Clean(at) != at || judged && n == nil || n != nil && n.kind == "array" {
			j.broken("well", "the well names %.80q, which is no group", at)
		}
		known := func(a object) bool { return a["id"] == image["acquisition"] }
		if len(acquisitions) > 1 && !slices.ContainsFunc(acquisitions, known) {
			j.broken("acquisition", "image %.80q names no acquisition of the plate", at)
		}
	}
}
