package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// WriteCSV writes rows, which are structs, below a line with the JSON names of their fields. Fields
// of embedded structs are columns, too; other structs, slices, maps and pointers are left out.
func WriteCSV[T any](w io.Writer, rows []T) error {
	out := csv.NewWriter(w)
	columns := csvColumns(reflect.TypeFor[T]())
	line := make([]string, len(columns))
	for i, column := range columns {
		line[i], _, _ = strings.Cut(column.Tag.Get("json"), ",")
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range rows {
		row := reflect.ValueOf(rows[i])
		for k, column := range columns {
			line[k] = fmt.Sprint(row.FieldByIndex(column.Index))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvColumns(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		switch f.Type.Kind() {
		case reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer:
			return true
		}
		return false
	})
}
