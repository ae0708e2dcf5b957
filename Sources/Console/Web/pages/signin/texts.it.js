/** @import { Texts } from "../../types.d.ts" */

/** @type {Texts<typeof import("./texts.en.js").en>} */
export const it = {
  title: "Accedi a Campanile",
  withKey: "Chiave API",
  withLodge: "Membro di loggia",
  withIssuer: (host = "") => `Accedi tramite ${host}`,
  key: "Chiave API",
  keyHint: "Inizia con cmp_. Viene scambiata con una sessione e non è conservata.",
  name: "Nome",
  pin: "PIN",
  submit: "Accedi",
  linkUsed: "Accesso con il link…",
  link: "Oppure esegui questo comando sulla macchina del gateway; apre un link che vale una volta:",
  errors: {
    link: "Questo link è già stato usato o è scaduto. I link valgono una volta, per 60 secondi. Esegui di nuovo campanile console.",
    key: "Questa chiave è sconosciuta, revocata o scaduta.",
    lodge: "Il nome o il PIN è sbagliato.",
    many: "Troppi tentativi. Aspetta un minuto e riprova.",
    unreachable: "Il gateway non risponde.",
  },
  issuerErrors: {
    refused: "L’emittente dei token ha rifiutato l’accesso.",
    unavailable: "L’emittente dei token non risponde come dovrebbe. Il motivo è nel log del gateway.",
    invalid: "L’accesso tramite l’emittente dei token non è stato completato. Riprova con questo browser, entro dieci minuti.",
  },
};
