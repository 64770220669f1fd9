// Package strictjson reads JSON documents from strangers: it refuses duplicate member
// names, invalid UTF-8, lone surrogates, trailing data and whatever is deeper or longer
// than the limits, in one pass over the bytes and without building a tree. What it
// accepts is then looked at through [Value], which points into the document.
//
//	v, err := strictjson.Parse(data, strictjson.Limits{})
//	shape, _ := v.Member("shape")
//	for _, e := range shape.Elements() {
//		n, err := e.Int64() // 4, 4.0 and 4e0 are integers; "4" and true are not
//	}
//
// Errors are of type [*Error] and say where: they carry the JSON pointer of the value,
// which is worked out from the byte offset only when an error is made. The happy path
// keeps no books.
//
// Parse takes O(n log n) time for n bytes, whatever they are, and memory for the member
// names of the objects that are open at one moment. Looking at a value takes the time to
// walk over its bytes.
package strictjson
