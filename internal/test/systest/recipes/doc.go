// Package recipes has the programs of docs/RECIPES.md.
package recipes
