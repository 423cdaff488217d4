// Runs dynalite, which throws when a client leaves in the middle of a request.
process.on('uncaughtException', (err) => {
  console.error(err)
  if (err.code !== 'ECONNRESET') process.exit(1)
})
require('dynalite/cli.js')
