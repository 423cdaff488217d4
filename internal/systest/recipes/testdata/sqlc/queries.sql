-- name: CreateOrder :exec
INSERT INTO orders (id, replaces) VALUES (?, ?);

-- name: GetOrder :one
SELECT id, replaces FROM orders WHERE id = ?;
